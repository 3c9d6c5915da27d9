// Looks at the GPUs now and then: how much memory is in use, whether a GPU is lost, and whether the
// memory of a dead worker is free again. Each GPU has its own thread ("tp-gpu"), because a driver
// may hang, and a GPU that hangs must delay only its own lanes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/lifeline.h"
#include "core/event.h"
#include "gpu/usage.h"
#include "os/alarm.h"
#include "os/background.h"
#include "plan/lane_plan.h"
#include "telemetry/lane_facts.h"

namespace turnpike {

/// Returns how the GPU with this UUID is used now. Slow, and may hang: is called on the GPU's own
/// thread.
using LookAtGpu = std::function<std::expected<GpuUsage, GpuFailure>(const std::string& uuid)>;

struct GpuWatchDeps {
    boost::asio::io_context& loop;
    Alarms& alarms;
    LookAtGpu look;  // empty if there is nothing to watch
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

    /// Calls `then` with whether the GPU memory of the lane's last worker is free. The worker must
    /// be gone; `pids` are its last processes. If the driver does not answer, that becomes the
    /// lane's trouble, and `then` is called late or never.
    void ask_memory(LaneId lane, std::vector<pid_t> pids, std::function<void(Memory)> then);
    /// Delivers MemoryFreed as soon as these processes hold no memory on the lane's GPUs any more.
    void tell_when_freed(LaneId lane, std::vector<pid_t> pids);

    /// True if a driver call is under way. Its thread may never end.
    [[nodiscard]] bool is_hanging() const;

private:
    using LookResult = std::expected<GpuUsage, GpuFailure>;
    struct Watched {
        std::unique_ptr<Background> thread;
        std::uint32_t looks_under_way = 0;
        bool is_lost = false;
    };
    struct Question;

    void look(const std::string& uuid, std::function<void(const LookResult&)> then);
    void look_now_and_then(const std::string& uuid);
    void seen(const std::string& uuid, const LookResult& usage);
    [[nodiscard]] std::vector<std::string> uuids_of(LaneId lane) const;
    void after(Duration wait, std::function<void()> then);

    GpuWatchDeps deps_;
    std::map<std::string, Watched> gpus_;  // by UUID
    std::list<Alarm> waits_;               // of after()
    Lifeline lifeline_;
};

}  // namespace turnpike
