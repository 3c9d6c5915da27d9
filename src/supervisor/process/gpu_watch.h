// A look at the GPUs now and then: how much memory is taken, whether one is gone, and whether what a
// dead worker held is free again. Each GPU has a thread of its own ("tp-gpu"), since a driver may hang,
// and a GPU that hangs shall keep no lane but its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "core/event.h"
#include "gpu/driver.h"
#include "os/background.h"
#include "plan/lane_plan.h"
#include "telemetry/lane_facts.h"

namespace turnpike {

struct GpuWatchDeps {
    boost::asio::io_context& loop;
    std::optional<GpuDriver> driver;  // none: there is nothing to watch
    const std::vector<LanePlan>& plan;
    std::vector<LaneFacts>& lanes;
    std::function<void(const Event&)> deliver;
};

class GpuWatch {
public:
    explicit GpuWatch(GpuWatchDeps deps);
    ~GpuWatch();
    GpuWatch(const GpuWatch&) = delete;
    GpuWatch& operator=(const GpuWatch&) = delete;

    void start();

    /// The lane's worker is gone, and these were its last processes: is its memory free? A driver
    /// that does not answer is the lane's trouble; then the answer comes late, or never.
    void ask_memory(LaneId lane, std::vector<pid_t> pids, std::function<void(Memory)> then);
    /// It was held: MemoryFreed follows.
    void tell_when_freed(LaneId lane, std::vector<pid_t> pids);

    /// A look is under way: its thread may never end.
    [[nodiscard]] bool is_hanging() const;

private:
    using Sight = std::expected<GpuSight, GpuFailure>;
    struct Watched {
        std::unique_ptr<Background> thread;
        std::uint32_t looks_under_way = 0;
        bool is_lost = false;
    };
    struct Question;

    void look(const std::string& uuid, std::function<void(const Sight&)> then);
    void look_now_and_then(const std::string& uuid);
    void seen(const std::string& uuid, const Sight& sight);
    [[nodiscard]] std::vector<std::string> uuids_of(LaneId lane) const;
    void after(Duration wait, std::function<void()> then);

    GpuWatchDeps deps_;
    std::map<std::string, Watched> gpus_;  // by UUID
    std::shared_ptr<int> lives_ = std::make_shared<int>();
};

}  // namespace turnpike
