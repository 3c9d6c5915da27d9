#include "supervisor/process/gpu_watch.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "os/process.h"

namespace turnpike {
namespace {

constexpr Duration look_every = 2s;
constexpr Duration memory_look_every = 100ms;
constexpr Duration answer_patience = 1s;

bool holds(const GpuUsage& usage, const std::vector<pid_t>& pids) {
    return std::ranges::any_of(usage.processes, [&](const GpuProcess& process) {
        return std::ranges::find(pids, process.pid) != pids.end() &&
               !read_process(static_cast<pid_t>(process.pid));
    });
}

}  // namespace

/// A question to all GPUs of a lane: do these processes hold memory there?
struct GpuWatch::Question {
    std::vector<pid_t> pids;
    std::function<void(Memory)> then;
    std::size_t answers_missing = 0;
    bool is_held = false;
};

GpuWatch::GpuWatch(GpuWatchDeps deps) : deps_(std::move(deps)) {
    if (!deps_.look) return;
    for (const LanePlan& lane : deps_.plan)
        for (const Gpu& gpu : lane.gpus)
            if (gpu.index && !gpus_.contains(gpu.uuid))
                gpus_[gpu.uuid].thread = std::make_unique<Background>(deps_.loop, "tp-gpu");
}

GpuWatch::~GpuWatch() {
    for (auto& [uuid, gpu] : gpus_)
        if (gpu.looks_under_way > 0) std::ignore = gpu.thread.release();  // it may never end
}

bool GpuWatch::is_hanging() const {
    return std::ranges::any_of(gpus_,
                               [](const auto& gpu) { return gpu.second.looks_under_way > 0; });
}

void GpuWatch::start() {
    for (const auto& [uuid, gpu] : gpus_) look_now_and_then(uuid);
}

void GpuWatch::look(const std::string& uuid, std::function<void(const LookResult&)> then) {
    Watched& gpu = gpus_.at(uuid);
    ++gpu.looks_under_way;
    gpu.thread->run([look_at = deps_.look, uuid] { return look_at(uuid); },
                    lifeline_.bind([&gpu, then = std::move(then)](const LookResult& usage) {
                        --gpu.looks_under_way;
                        then(usage);
                    }));
}

void GpuWatch::look_now_and_then(const std::string& uuid) {
    look(uuid, [this, uuid](const LookResult& usage) {
        seen(uuid, usage);
        after(look_every, [this, uuid] { look_now_and_then(uuid); });
    });
}

void GpuWatch::seen(const std::string& uuid, const LookResult& usage) {
    Watched& watched = gpus_.at(uuid);
    const bool is_lost = !usage && usage.error() == GpuFailure::lost;
    const bool is_news = is_lost && !watched.is_lost;
    if (is_lost || usage) watched.is_lost = is_lost;
    for (std::size_t lane = 0; lane < deps_.lanes.size(); ++lane)
        for (GpuFacts& gpu : deps_.lanes[lane].gpus) {
            if (gpu.uuid != uuid) continue;
            gpu.memory_used = usage ? std::optional(usage->memory_used) : std::nullopt;
            if (is_news) deps_.deliver(GpuLost{LaneId{lane}});
        }
}

std::vector<std::string> GpuWatch::uuids_of(LaneId lane) const {
    std::vector<std::string> uuids;
    for (const Gpu& gpu : deps_.plan[lane.value].gpus)
        if (gpus_.contains(gpu.uuid)) uuids.push_back(gpu.uuid);
    return uuids;
}

void GpuWatch::ask_memory(LaneId lane, std::vector<pid_t> pids, std::function<void(Memory)> then) {
    const std::vector<std::string> uuids = uuids_of(lane);
    if (uuids.empty()) return then(Memory::freed);
    const auto question = std::make_shared<Question>(Question{
        .pids = std::move(pids), .then = std::move(then), .answers_missing = uuids.size()});
    for (const std::string& uuid : uuids)
        look(uuid, [question](const LookResult& usage) {
            if (usage && holds(*usage, question->pids)) question->is_held = true;
            if (--question->answers_missing > 0) return;
            question->then(question->is_held ? Memory::held : Memory::freed);
        });
    after(answer_patience, [this, lane, question] {
        if (question->answers_missing > 0)
            deps_.lanes[lane.value].now.trouble = {.cause = LaneCause::gpu_silent,
                                                   .told = "the driver of its GPU does not answer"};
    });
}

void GpuWatch::tell_when_freed(LaneId lane, std::vector<pid_t> pids) {
    after(memory_look_every, [this, lane, pids = std::move(pids)] {
        ask_memory(lane, pids, [this, lane, pids](Memory memory) {
            if (memory == Memory::held) return tell_when_freed(lane, pids);
            deps_.deliver(MemoryFreed{lane});
        });
    });
}

void GpuWatch::after(Duration wait, std::function<void()> then) {
    const auto place = waits_.emplace(waits_.end(), deps_.alarms);
    place->set(wait, [this, place, then = std::move(then)] {
        const auto what = then;  // erasing the alarm destroys this function
        waits_.erase(place);
        what();
    });
}

}  // namespace turnpike
