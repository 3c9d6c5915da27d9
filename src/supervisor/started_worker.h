// A worker that we start ourselves: an HTTP server under a guard, on a port (or a Unix socket) that it
// is told.
//
//   spawned ─▶ its tree listens ─▶ its health path answers ─▶ up ─▶ exited ─▶ gone ─▶ memory looked at
//
// It is ready only when the listener belongs to its own process tree: whoever else took the port in
// between is never sent a job.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "os/children.h"
#include "os/guarded.h"
#include "os/ports.h"
#include "supervisor/aftermath.h"
#include "supervisor/gpu_watch.h"
#include "supervisor/http_worker.h"
#include "supervisor/lane_output.h"
#include "supervisor/lane_plan.h"
#include "telemetry/crash_report.h"

namespace turnpike {

/// What all started workers share.
struct Premises {
    Children& children;
    GpuWatch& gpus;
    Background& process_table;  // for looks at /proc
    const Machine& machine;
    CrashConfig crashes;
    std::string folder;                      // the gate's runtime folder
    std::string mark;                        // TURNPIKE_RUN
    std::vector<std::string> environment;    // of `up`, without what is not for workers
    std::optional<std::string> cgroup_home;  // none: there are no groups
    std::uint64_t open_files = 0;            // soft limit of workers
    std::function<std::uint64_t()> random;
    std::function<void(CrashReport)> crashed;
    std::function<void()> processes_changed;  // those of known_processes()
    std::set<std::uint16_t> ports{};          // given to workers that live
    std::uint64_t starts = 0;                 // for names
};

class StartedWorker final : public HttpWorker {
public:
    struct Lane {
        const PoolConfig& pool;
        const LanePlan& plan;
        LaneOutput& output;
        std::shared_ptr<AnswerGroups> groups;
    };
    StartedWorker(WorkerSurroundings& surroundings, Premises& premises, const StartWorker& start,
                  const Lane& lane);
    ~StartedWorker() override;

    void start() override;
    void stop(Reason why) override;
    void kill(Reason why) override;

    /// It printed something.
    void printed();
    [[nodiscard]] WorkerId id() const { return worker_; }
    /// Above its whole tree; 0: nothing runs.
    [[nodiscard]] pid_t guard() const { return guarded_ == nullptr ? 0 : guarded_->guard(); }
    /// By which the next gate finds what is left of it.
    [[nodiscard]] const std::vector<ProcessId>& known_processes() const { return known_; }
    [[nodiscard]] const std::string& group() const { return group_; }

private:
    void come_up() override;
    void came_up() override;
    void lost_touch(const std::function<void()>& say) override;
    void proof_broke(std::uint32_t number) override;
    void check_identity(Check check, const std::function<void(bool)>& then) override;

    [[nodiscard]] std::optional<std::string> choose_place();
    [[nodiscard]] std::vector<std::string> environment() const;
    [[nodiscard]] GuardedUser user();
    void could_not_start(const std::string& why);
    void started(const ProcessId& process);
    void port_seen(const PortSight& sight, PortLook look);
    void look_later();
    void reached_by(PortSight::Protocol protocol);
    void listens();
    void stuck(const std::string& who);
    void exited(const WorkerEnd& end);
    void gone(const std::vector<pid_t>& pids);
    void over(Memory memory, const std::vector<pid_t>& pids);
    void order(Reason why);
    [[nodiscard]] WorkerEnding ending() const;
    void keep_inputs();
    [[nodiscard]] CrashReport crash_report() const;
    void after(Duration wait, std::function<void()> then);

    Premises& premises_;
    const LanePlan& plan_;
    LaneOutput& output_;
    std::shared_ptr<Guarded> guarded_;
    std::string command_;
    std::uint16_t port_ = 0;   // 0: a Unix socket
    std::string socket_path_;  // empty: a port
    std::string group_;
    ProcessId process_;
    std::vector<ProcessId> known_;
    Instant asked_at_{};
    Instant started_at_{};
    Instant listens_at_ = never;
    Instant progressed_at_{};
    std::uint32_t looks_ = 0;        // at its port
    std::uint64_t log_began_ = 0;    // its first line comes after this one
    Reason ordered_ = Reason::none;  // why we ended it; none: it ended by itself
    std::string trouble_before_;     // what was known when we did
    WorkerEnd end_;
    Instant ended_at_{};
    std::vector<CrashInput> inputs_;
    bool is_doubted_ = false;  // a link broke since its port was looked at
};

}  // namespace turnpike
