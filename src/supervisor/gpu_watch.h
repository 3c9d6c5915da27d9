// A look at the GPUs now and then, on a thread of its own ("tp-gpu"), since a driver may hang: how much
// memory is taken, whether one is gone, and whether what a dead worker held is free again.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/event.h"
#include "gpu/driver.h"
#include "os/background.h"
#include "supervisor/lane_plan.h"
#include "telemetry/lane_facts.h"

namespace turnpike {

class GpuWatch {
public:
    struct Surroundings {
        boost::asio::io_context& loop;
        std::optional<GpuDriver> driver;  // none: there is nothing to watch
        const std::vector<LanePlan>& plan;
        std::vector<LaneFacts>& lanes;
        std::function<void(const Event&)> deliver;
    };
    explicit GpuWatch(Surroundings surroundings);
    ~GpuWatch();
    GpuWatch(const GpuWatch&) = delete;
    GpuWatch& operator=(const GpuWatch&) = delete;

    void start();

    /// The lane's worker is gone, and these were its last processes: is its memory free?
    void ask_memory(LaneId lane, std::vector<pid_t> pids, std::function<void(Memory)> then);
    /// It was held: MemoryFreed follows.
    void tell_when_freed(LaneId lane, std::vector<pid_t> pids);

    /// The driver has not come back for long: the thread can't be ended.
    [[nodiscard]] bool hangs() const { return looks_under_way_ > 0; }

private:
    struct Sighting {
        std::string uuid;
        std::expected<GpuSight, GpuFailure> sight;
    };
    using Sightings = std::vector<Sighting>;

    void look(std::vector<std::string> uuids, std::function<void(const Sightings&)> then);
    void look_later();
    void seen(const Sightings& sightings);
    [[nodiscard]] std::vector<std::string> uuids_of(LaneId lane) const;
    void after(Duration wait, std::function<void()> then);

    Surroundings around_;
    boost::asio::steady_timer timer_;
    std::unique_ptr<Background> thread_;
    std::uint32_t looks_under_way_ = 0;
    std::set<std::string> lost_;
    std::shared_ptr<int> lives_ = std::make_shared<int>();
};

}  // namespace turnpike
