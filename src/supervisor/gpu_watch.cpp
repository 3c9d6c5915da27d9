#include "supervisor/gpu_watch.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace turnpike {
namespace {

constexpr Duration look_every = 2s;
constexpr Duration memory_look_every = 100ms;

bool holds(const GpuSight& sight, const std::vector<pid_t>& pids) {
    return std::ranges::any_of(sight.processes, [&](const GpuProcess& process) {
        return std::ranges::find(pids, process.pid) != pids.end();
    });
}

}  // namespace

GpuWatch::GpuWatch(Surroundings surroundings)
    : around_(std::move(surroundings)), timer_(around_.loop) {
    if (around_.driver && around_.driver->can_look())
        thread_ = std::make_unique<Background>(around_.loop, "tp-gpu");
}

GpuWatch::~GpuWatch() {
    if (hangs()) std::ignore = thread_.release();  // the process ends without it
}

void GpuWatch::start() {
    if (thread_ != nullptr) look_later();
}

void GpuWatch::look(std::vector<std::string> uuids, std::function<void(const Sightings&)> then) {
    ++looks_under_way_;
    thread_->run(
        [driver = *around_.driver, uuids = std::move(uuids)] {
            Sightings sightings;
            for (const std::string& uuid : uuids)
                sightings.push_back({.uuid = uuid, .sight = driver.look(uuid)});
            return sightings;
        },
        [this, lives = std::weak_ptr(lives_), then = std::move(then)](const Sightings& sightings) {
            if (lives.expired()) return;
            --looks_under_way_;
            then(sightings);
        });
}

void GpuWatch::look_later() {
    std::set<std::string> uuids;
    for (const LanePlan& lane : around_.plan)
        for (const Gpu& gpu : lane.gpus)
            if (gpu.index) uuids.insert(gpu.uuid);
    if (uuids.empty()) return;
    look({uuids.begin(), uuids.end()}, [this](const Sightings& sightings) {
        seen(sightings);
        timer_.expires_after(look_every);
        timer_.async_wait([this](boost::system::error_code error) {
            if (!error) look_later();
        });
    });
}

void GpuWatch::seen(const Sightings& sightings) {
    for (const Sighting& sighting : sightings) {
        const bool is_lost = !sighting.sight && sighting.sight.error() == GpuFailure::lost;
        const bool is_news = is_lost && lost_.insert(sighting.uuid).second;
        if (!is_lost && sighting.sight) lost_.erase(sighting.uuid);
        for (std::size_t lane = 0; lane < around_.lanes.size(); ++lane)
            for (GpuFacts& gpu : around_.lanes[lane].gpus) {
                if (gpu.uuid != sighting.uuid) continue;
                gpu.memory_used =
                    sighting.sight ? std::optional(sighting.sight->memory_used) : std::nullopt;
                if (is_news) around_.deliver(GpuLost{LaneId{lane}});
            }
    }
}

std::vector<std::string> GpuWatch::uuids_of(LaneId lane) const {
    std::vector<std::string> uuids;
    for (const Gpu& gpu : around_.plan[lane.value].gpus)
        if (gpu.index) uuids.push_back(gpu.uuid);
    return uuids;
}

void GpuWatch::ask_memory(LaneId lane, std::vector<pid_t> pids, std::function<void(Memory)> then) {
    std::vector<std::string> uuids = uuids_of(lane);
    if (thread_ == nullptr || uuids.empty()) return then(Memory::freed);
    look(std::move(uuids), [pids = std::move(pids), then = std::move(then)](const Sightings& seen) {
        const bool is_held = std::ranges::any_of(seen, [&](const Sighting& sighting) {
            return sighting.sight && holds(*sighting.sight, pids);
        });
        then(is_held ? Memory::held : Memory::freed);
    });
}

void GpuWatch::tell_when_freed(LaneId lane, std::vector<pid_t> pids) {
    after(memory_look_every, [this, lane, pids = std::move(pids)] {
        ask_memory(lane, pids, [this, lane, pids](Memory memory) {
            if (memory == Memory::held) return tell_when_freed(lane, pids);
            around_.deliver(MemoryFreed{lane});
        });
    });
}

void GpuWatch::after(Duration wait, std::function<void()> then) {
    const auto timer = std::make_shared<boost::asio::steady_timer>(around_.loop, wait);
    timer->async_wait([timer, then = std::move(then),
                       lives = std::weak_ptr(lives_)](boost::system::error_code error) {
        if (!error && !lives.expired()) then();
    });
}

}  // namespace turnpike
