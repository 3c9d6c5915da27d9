#include "gate/answer_room.h"

#include <algorithm>
#include <utility>

#include "gate/connection.h"

namespace turnpike {

AnswerRoom::AnswerRoom(AnswerAccount& account, const Store& store, const Connections& connections,
                       Wakeups& wakeups)
    : account_(account), store_(store), connections_(connections), wakeups_(wakeups) {
    account_.set_watcher(this);
}

AnswerRoom::~AnswerRoom() {
    account_.set_watcher(nullptr);
    wakeups_.remove(*this);
}

void AnswerRoom::wake() {
    while (account_.is_over()) {
        Connection* connection = slowest_reader_of_greediest(Room::all);
        if (connection == nullptr) return;  // no client reads yet: the answers are not complete
        connection->cut_off(Departure::answers_full);
    }
}

/// After a cut the next look cuts nobody: until then the disk gets its room back, and the workers that
/// wait try it again. If no other answer is on the disk, others than answers have filled it, and a cut
/// would make room for nobody.
void AnswerRoom::look_at_disk(Instant now) {
    if (now < next_look_) return;
    next_look_ = later(now, look_every);
    std::vector<Stuck> stuck;
    std::size_t on_disk = 0;
    for_each_reader([&](const Connection& connection, Answer& answer) {
        const std::size_t holds = answer.share().spooled > 0 ? 1 : 0;
        on_disk += holds;
        if (answer.waits_for_disk()) stuck.push_back({connection.ticket(), answer.taken(), holds});
    });
    const bool must_cut = std::ranges::any_of(stuck, [this, on_disk](const Stuck& one) {
        return on_disk > one.on_disk && has_hardly_moved(one);
    });
    stuck_ = std::move(stuck);
    Connection* connection = must_cut ? slowest_reader_of_greediest(Room::on_disk) : nullptr;
    if (connection != nullptr) {
        stuck_.clear();
        connection->cut_off(Departure::answers_full);
    }
    for_each_reader([this](Connection&, Answer& answer) { answer.try_disk_again(store_); });
}

bool AnswerRoom::has_hardly_moved(const Stuck& now) const {
    const auto before = std::ranges::find(stuck_, now.ticket, &Stuck::ticket);
    return before != stuck_.end() && now.taken >= before->taken &&
           now.taken - before->taken < progress_min.count;
}

/// Visits the connections on which an answer waits.
template <class Visit>
void AnswerRoom::for_each_reader(Visit visit) const {
    for (const auto& connection : connections_) {
        Answer* const answer = connection == nullptr ? nullptr : connection->waiting_answer();
        if (answer != nullptr && answer->share().total() > 0) visit(*connection, *answer);
    }
}

Connection* AnswerRoom::slowest_reader_of_greediest(Room room) {
    const auto held_by = [room](const Answer& answer) {
        return room == Room::all ? answer.share().total() : answer.share().spooled;
    };
    std::ranges::fill(held_, 0);
    for_each_reader([&](const Connection& connection, const Answer& answer) {
        const std::size_t client = connection.client_of_job().value;
        if (client >= held_.size()) held_.resize(client + 1);
        held_[client] += held_by(answer);
    });
    const auto most = std::ranges::max_element(held_);
    if (most == held_.end() || *most == 0) return nullptr;
    const ClientId greediest{static_cast<std::uint64_t>(most - held_.begin())};
    Connection* slowest = nullptr;
    std::uint64_t slowest_rate = 0;
    for_each_reader([&](Connection& connection, const Answer& answer) {
        if (connection.client_of_job() != greediest || held_by(answer) == 0) return;
        const std::uint64_t rate = connection.measure_reading_rate();
        if (slowest != nullptr && rate >= slowest_rate) return;
        slowest = &connection;
        slowest_rate = rate;
    });
    return slowest;
}

}  // namespace turnpike
