#include "supervisor/supervisor.h"

#include <utility>

#include <boost/asio/post.hpp>

namespace turnpike {

Supervisor::Supervisor(WorkerSurroundings surroundings, const Config& config)
    : surroundings_(std::move(surroundings)), config_(config) {
    for (std::size_t pool = 0; pool < config.pools.size(); ++pool)
        for (const WorkerUrl& url : config.pools[pool].attach)
            posts_.push_back({.pool = pool, .url = &url});
}

Supervisor::~Supervisor() = default;

void Supervisor::carry_out(const StartWorker& action) {
    const Post& post = posts_.at(action.lane.value);
    const auto worker =
        std::make_shared<AttachedWorker>(surroundings_, action, config_.pools[post.pool], *post.url,
                                         groups_of(post.pool, action.generation));
    place_of(action.worker) = {.id = action.worker, .worker = worker};
    worker->start();
}

void Supervisor::carry_out(const SendJob& action) {
    if (AttachedWorker* worker = find(action.worker)) worker->send(action);
}

void Supervisor::carry_out(const CancelAttempt& action) {
    if (AttachedWorker* worker = find(action.worker)) worker->cancel(action.attempt);
}

void Supervisor::carry_out(const ProbeWorker& action) {
    if (AttachedWorker* worker = find(action.worker)) worker->probe(action.probe);
}

void Supervisor::carry_out(const ProveWorker& action) {
    if (AttachedWorker* worker = find(action.worker)) worker->prove(action.proof);
}

void Supervisor::end(WorkerId id) {
    if (find(id) == nullptr) return;
    const WorkerPtr worker = std::exchange(place_of(id).worker, nullptr);
    worker->end();
    // Its own callback may be what led here: it goes when the stack is empty.
    boost::asio::post(surroundings_.loop, [worker] {});
}

Supervisor::Place& Supervisor::place_of(WorkerId worker) {
    const auto place = static_cast<std::uint32_t>(worker.value);
    if (place >= places_.size()) places_.resize(place + 1);
    return places_[place];
}

AttachedWorker* Supervisor::find(WorkerId worker) {
    const Place& place = place_of(worker);
    return place.id == worker ? place.worker.get() : nullptr;
}

std::shared_ptr<AnswerGroups> Supervisor::groups_of(std::size_t pool, Generation generation) {
    auto& groups = groups_[{pool, generation}];
    if (groups == nullptr) groups = std::make_shared<AnswerGroups>();
    return groups;
}

}  // namespace turnpike
