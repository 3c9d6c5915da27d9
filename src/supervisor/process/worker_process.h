// The process of a worker that we start: under a guard, its output in its lane's log, and what is left to
// do when it ends. How jobs get to it is up to who speaks with it.
//
//   start() ─▶ started ─▶ exited ─▶ gone ─▶ memory looked at ─▶ over
//
// The engine hears WorkerStarted, WorkerExited and WorkerGone from here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/config.h"
#include "os/children.h"
#include "os/guarded.h"
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

/// What all started workers share.
struct ProcessDeps {
    Children& children;
    GpuWatch& gpus;
    Background& process_table;  // for looks at /proc
    const Machine& machine;
    CrashConfig crashes;
    std::string folder;                      // the gate's runtime folder
    std::string mark;                        // TURNPIKE_RUN
    std::string sdk;                         // the folder of the Python SDK
    std::vector<std::string> environment;    // of `up`, without what is not for workers
    std::optional<std::string> cgroup_home;  // none: there are no groups
    std::uint64_t open_files = 0;            // soft limit of workers
    std::function<std::uint64_t()> random;
    std::function<void(CrashReport)> crashed;
    std::function<void()> processes_changed;  // those of known_processes()
    /// At the stacks of a worker that does not tell, into the log of its lane.
    std::function<void(const WorkerProcess&)> dump_stacks_by_tool;
    std::set<std::uint16_t> ports{};  // given to workers that live
    std::uint64_t starts = 0;         // for names
};

/// What a generation runs, as far as it lies in a folder.
struct KeptGeneration {
    std::string folder;
    KeptProgram program{};     // if the model is one
    bool has_come_up = false;  // a worker of it has loaded
};

/// The lane that a worker is started on.
struct StartedLane {
    const PoolConfig& pool;
    const LanePlan& plan;
    LaneOutput& output;
    std::shared_ptr<CommonProof> proof;  // of its generation; of the background thread
    std::shared_ptr<KeptGeneration> kept;
    std::shared_ptr<WarmProcess> warm;  // nullptr: it starts cold
};

/// How it ended, for the jobs aboard.
struct EndNotice {
    std::string trouble;     // for their clients; empty: they know already
    std::string last_words;  // for their records
};

/// Who speaks with the worker.
class ProcessUser {
public:
    /// It runs, and the engine knows.
    virtual void process_started() = 0;
    [[nodiscard]] virtual std::vector<ExchangePtr> aboard() const = 0;
    /// Nothing more is sent or heard. Each job aboard gets the notice, and is forgotten.
    virtual void process_exited(const EndNotice& notice) = 0;
    /// Nothing of its tree is left.
    virtual void process_gone() {}
    /// Whose member the process is.
    [[nodiscard]] virtual std::shared_ptr<LaneWorker> owner() = 0;

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

    /// The clock of its start begins.
    void begin();
    using Variables = std::vector<std::pair<std::string, std::string>>;
    /// How it is started.
    struct Launch {
        std::string command;
        Guarded::Link link = Guarded::Link::none;
        Variables variables{};  // beside its lane's own
        std::string model =
            {};  // what its pool's warm process makes of itself instead; empty: never
    };
    /// Warm where that is possible. If it can't be started at all, that is heard as its end.
    void start(Launch launch);
    /// Our end of its link, once.
    [[nodiscard]] UniqueFd take_link() { return std::move(link_); }
    void could_not_start(const std::string& why);
    /// It serves: its tree is there now, and gets known.
    void came_up();
    void first_job_took(Duration time);
    /// The reason for which it shall end: whatever follows is no crash.
    void order(Reason why);
    void terminate(Reason why);
    void kill(Reason why);

    /// Its lane's latest trouble; empty: none.
    void note(std::string trouble) { facts().trouble = std::move(trouble); }
    [[nodiscard]] WorkerFacts& facts() { return deps_.lanes[lane_.value].of(worker_); }
    [[nodiscard]] LaneOutput& output() { return started_lane_.output; }
    [[nodiscard]] Instant started_at() const { return started_at_; }
    void after(Duration wait, std::function<void()> then);
    /// While it loads: what it said last is shown, and renews load_timeout (not for each line).
    void progressed();

    [[nodiscard]] WorkerId id() const { return worker_; }
    [[nodiscard]] LaneId lane() const { return lane_; }
    /// Above its whole tree; 0: nothing runs.
    [[nodiscard]] pid_t guard() const { return guarded_ == nullptr ? 0 : guarded_->guard(); }
    /// By which the next gate finds what is left of it.
    [[nodiscard]] const std::vector<ProcessId>& known_processes() const { return known_; }
    [[nodiscard]] const std::string& group() const { return group_; }

private:
    [[nodiscard]] std::vector<std::string> environment(const Variables& variables) const;
    [[nodiscard]] GuardOrders orders() const;
    [[nodiscard]] GuardedUser guarded_user();
    [[nodiscard]] std::expected<void, std::string> start_warm();
    void start_cold();
    void warm_failed(const std::string& why);
    void attach(Guarded::Ends ends);
    void started(const ProcessId& process);
    void stuck(const std::string& who);
    void exited(const WorkerEnd& end);
    void gone(const std::vector<pid_t>& pids);
    void finish(Memory memory, const std::vector<pid_t>& pids);
    [[nodiscard]] std::string trouble_for_jobs() const;
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
    std::shared_ptr<Guarded> guarded_;
    Launch launch_;
    UniqueFd link_;  // until somebody takes it
    std::string group_;
    ProcessId process_;
    std::vector<ProcessId> known_;
    Instant asked_at_{};
    Instant started_at_{};
    Instant progressed_at_{};
    std::uint64_t log_began_ = 0;    // its first line comes after this one
    Reason ordered_ = Reason::none;  // why we ended it; none: it ended by itself
    std::string trouble_before_;     // what was known when we did
    WorkerEnd end_;
    Instant ended_at_{};
    std::vector<CrashInput> inputs_;
    bool has_ended_ = false;
};

}  // namespace turnpike
