// The process of a worker that we start: it runs under a guard, its output goes to its lane's log,
// and its end is reported and cleaned up. A ProcessUser sends jobs to it.
//
//   start() ─▶ started ─▶ exited ─▶ gone (no process of its tree is left) ─▶ GPU memory checked
//
// This class delivers WorkerStarted, WorkerExited and WorkerGone to the engine.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/lifeline.h"
#include "config/config.h"
#include "os/alarm.h"
#include "os/guarded.h"
#include "os/listener_lookup.h"
#include "os/ports.h"
#include "plan/lane_plan.h"
#include "proof/recorded_proof.h"
#include "supervisor/process/gpu_watch.h"
#include "supervisor/process/lane_output.h"
#include "supervisor/process/warm.h"
#include "supervisor/process/worker_ending.h"
#include "supervisor/reload/generations.h"
#include "supervisor/worker/lane_worker.h"
#include "telemetry/crash_report.h"

namespace turnpike {

class WorkerProcess;

/// What all workers that we start share.
struct ProcessDeps {
    MakeGuard make_guard;
    GpuWatch& gpus;
    Background& process_table;    // the thread that reads /proc
    LookAtPort look_at_port;      // called on that thread
    LookAtSocket look_at_socket;  // the same
    ListenerAt listener_at;
    const Machine& machine;
    CrashConfig crashes;
    std::string folder;                      // the gate's runtime folder
    std::string mark;                        // TURNPIKE_RUN
    std::string sdk;                         // the folder of the Python SDK
    std::vector<std::string> environment;    // what workers inherit from `up`; no API keys
    std::optional<std::string> cgroup_home;  // nullopt if there are no control groups
    std::uint64_t open_files = 0;            // soft limit for workers
    std::function<std::uint64_t()> random;
    std::function<void(CrashReport)> crashed;
    std::function<void()> processes_changed;  // known_processes() has changed
    /// Dumps the stacks of a worker that did not answer, to its lane's log.
    std::function<void(const WorkerProcess&)> dump_stacks_by_tool;
    std::set<std::uint16_t> ports{};  // the ports of workers that have not ended
    std::uint64_t starts = 0;         // starts so far, to make names unique
};

/// The files that a generation runs from.
struct KeptGeneration {
    std::string folder;
    KeptProgram program{};     // if the model is a program
    SourceCopies sources{};    // if it is in Python
    bool has_come_up = false;  // a worker of this generation has loaded
};

/// The lane that a worker is started on.
struct StartedLane {
    const PoolConfig& pool;
    const LanePlan& plan;
    LaneOutput& output;
    std::shared_ptr<CommonProof> proof;  // of its generation; used by the background thread only
    std::shared_ptr<KeptGeneration> kept;
    std::shared_ptr<WarmProcess> warm;  // nullptr if the worker starts cold
};

/// The object that talks to the worker, by HTTP or by frames.
class ProcessUser {
public:
    /// Called when the process runs and the engine has been told.
    virtual void process_started() = 0;
    /// Returns the jobs that the worker may have died of: those that it has now, and maybe those
    /// that it broke off shortly before.
    [[nodiscard]] virtual std::vector<ExchangePtr> suspects() const = 0;
    /// Called when the worker's main process has exited. The user must stop talking to the worker,
    /// make `end` the trouble of each job aboard, and forget these jobs.
    virtual void process_exited(const Trouble& end) = 0;
    /// Called when no process of the worker's tree is left.
    virtual void process_gone() {}

protected:
    ~ProcessUser() = default;
};

class WorkerProcess {
public:
    WorkerProcess(WorkerDeps& deps, ProcessDeps& process_deps, const StartWorker& start,
                  const StartedLane& lane, ProcessUser& user);
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    /// Begins to measure the start. Must be called before start().
    void begin();
    using Variables = std::vector<std::pair<std::string, std::string>>;
    /// How the process is started.
    struct Launch {
        std::string command;
        WorkerGuard::Link link = WorkerGuard::Link::none;
        Variables variables{};   // in addition to those of its lane
        std::string model = {};  // for a warm start; empty if starts are always cold
    };
    /// Starts the process, warm if that is possible. If it can't be started at all, tells the user
    /// and the engine that it has exited.
    void start(Launch launch);
    /// Gives away our end of the worker's socket. Can be called once.
    [[nodiscard]] UniqueFd take_link() { return std::move(link_); }
    void could_not_start(const StartFailure& why);
    /// Must be called when the worker is ready. Adds its child processes to known_processes().
    void came_up();
    void first_job_took(Duration time);
    /// Notes why we want the worker to end. Its end is then reported with that reason, not as a
    /// crash of its own.
    void order(Reason why);
    [[nodiscard]] bool is_ordered_to_end() const { return ordered_ != Reason::none; }
    /// True if the worker was told to end, or its main process has exited.
    [[nodiscard]] bool is_ending() const { return is_ordered_to_end() || has_ended_; }
    /// True once the engine was told that no process of the worker's tree is left.
    [[nodiscard]] bool is_gone() const { return has_ended_ && guarded_ == nullptr; }
    void terminate(Reason why);
    void kill(Reason why);

    /// Returns the last lines that the worker printed.
    [[nodiscard]] std::string last_words();
    /// Sets the lane's latest trouble; an empty one clears it.
    void set_trouble(LaneTrouble trouble) { facts().trouble = std::move(trouble); }
    [[nodiscard]] WorkerFacts& facts() { return deps_.lanes[lane_.value].of(worker_); }
    [[nodiscard]] LaneOutput& output() { return started_lane_.output; }
    [[nodiscard]] Instant started_at() const { return started_at_; }
    /// Calls `then` later, unless this process is destroyed before.
    void after(Duration wait, std::function<void()> then);
    /// Must be called when the loading worker makes progress. Renews load_timeout, but not for each
    /// line of output.
    void progressed();

    [[nodiscard]] WorkerId id() const { return worker_; }
    [[nodiscard]] LaneId lane() const { return lane_; }
    /// Returns the pid of the guard, which is above the worker's whole tree, or 0 if nothing runs.
    [[nodiscard]] pid_t guard() const { return guarded_ == nullptr ? 0 : guarded_->guard(); }
    /// Returns the processes to write to a file, so that the next gate can end those that are left.
    [[nodiscard]] const std::vector<ProcessId>& known_processes() const { return known_; }
    [[nodiscard]] const std::string& group() const { return group_; }

private:
    [[nodiscard]] std::vector<std::string> environment(const Variables& variables) const;
    [[nodiscard]] GuardOrders orders() const;
    [[nodiscard]] GuardedUser guarded_user();
    [[nodiscard]] std::expected<void, WarmTrouble> start_warm();
    void start_cold();
    void warm_failed(const std::optional<WarmTrouble>& why);
    void attach(WorkerGuard::Ends ends);
    void started(const ProcessId& process);
    void stuck(const std::string& who);
    void exited(const WorkerEnd& end);
    void gone(const std::vector<pid_t>& pids);
    void finish(Memory memory, const std::vector<pid_t>& pids);
    [[nodiscard]] Trouble trouble_for_jobs() const;
    [[nodiscard]] WorkerEnding ending() const;
    void keep_inputs();
    [[nodiscard]] CrashReport crash_report();

    WorkerDeps& deps_;
    ProcessDeps& process_deps_;
    const WorkerId worker_;
    const LaneId lane_;
    const Generation generation_;
    const StartedLane started_lane_;
    ProcessUser& user_;
    std::shared_ptr<WorkerGuard> guarded_;
    Launch launch_;
    UniqueFd link_;  // our end of the worker's socket, until take_link()
    std::string group_;
    ProcessId process_;
    std::vector<ProcessId> known_;
    Instant asked_at_{};
    Instant started_at_{};
    Instant progressed_at_{};
    std::uint64_t log_began_ = 0;    // the number of the last log line before its own
    Reason ordered_ = Reason::none;  // why we ended it; none if it ended by itself
    LaneTrouble trouble_before_;     // the lane's trouble when we ended it
    WorkerEnd end_;
    Instant ended_at_{};
    std::vector<CrashInput> inputs_;
    bool has_ended_ = false;
    std::list<Alarm> waits_;  // of after()
    Lifeline lifeline_;
};

}  // namespace turnpike
