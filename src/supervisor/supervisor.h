// The supervisor: carries out what the engine wants of workers, and tells it what they do.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/action.h"
#include "gpu/driver.h"
#include "os/background.h"
#include "os/children.h"
#include "plan/lane_plan.h"
#include "supervisor/process/gpu_watch.h"
#include "supervisor/process/lane_output.h"
#include "supervisor/process/worker_process.h"
#include "supervisor/reload/generations.h"
#include "supervisor/reload/reloads.h"
#include "supervisor/worker/lane_worker.h"

namespace turnpike {

struct SupervisorDeps {
    const Config& config;
    const Machine& machine;
    const std::vector<LanePlan>& plan;
    std::vector<PoolFacts>& pools;
    std::optional<GpuDriver> driver;       // none: there is no GPU
    std::string folder;                    // the runtime folder
    std::string mark;                      // TURNPIKE_RUN
    std::string version;                   // of Turnpike
    std::string sdk;                       // the folder of the Python SDK; empty: none
    Background& log_disk;                  // a thread that only logs wait for
    std::string logs;                      // the folder of the lanes' logs; empty: none
    std::vector<std::string> environment;  // of `up`
    std::uint64_t open_files = 0;          // soft limit of workers
    std::function<std::uint64_t()> random;
    std::function<void(CrashReport)> crashed;
};

class Supervisor {
public:
    Supervisor(WorkerDeps worker_deps, SupervisorDeps deps);
    ~Supervisor();

    void carry_out(const StartWorker& action);
    void carry_out(const StopWorker& action);
    void carry_out(const KillWorker& action);
    void carry_out(const SendJob& action);
    void carry_out(const CancelAttempt& action);
    void carry_out(const ProbeWorker& action);
    void carry_out(const ProveWorker& action);
    void note(const ReportSwitch& report);
    /// Dumps the stacks of the worker that runs it.
    void note(const ReportSlowJob& report);

    void note(const ReportLane& report);
    /// Keeps what was accepted, and forgets generations that nothing will start any more.
    void note(const ReportReload& report);

    /// The pool goes over to its code as it is now. An error is a sentence: its workers are not ours.
    std::expected<ReloadBegun, std::string> reload(PoolId pool, ReloadOrder order) {
        return reloads_.ask(pool.value, std::move(order));
    }
    [[nodiscard]] Reloads& reloads() { return reloads_; }
    /// For people, once: what keeps a pool's starts cold; empty: nothing new.
    [[nodiscard]] std::string warm_news();
    /// What this generation answers to the model's example is right, whatever is recorded; once it has
    /// become good, it is the recording. Before the generation's first worker starts.
    void accept_answers(PoolId pool, Generation generation);

    /// Of a lane's worker, into its log. Something: why not.
    std::optional<std::string> dump_stacks(LaneId lane);

    /// nullptr: no such lane, or its workers are not ours.
    [[nodiscard]] const LaneLog* log_of(std::size_t lane) const;
    /// Why some log does not get onto the disk; empty: all do.
    [[nodiscard]] std::string log_problem() const;
    /// A driver call does not come back, so that the process can't be ended by its last line.
    [[nodiscard]] bool is_hanging() const { return gpus_.is_hanging(); }

private:
    using WorkerPtr = std::shared_ptr<LaneWorker>;

    struct Place {
        WorkerId id;
        WorkerPtr worker;
    };

    /// Where a worker of this id is, or would be: an id's low half is a dense place.
    Place& place_of(WorkerId worker);
    [[nodiscard]] LaneWorker* find(WorkerId worker) const;
    WorkerPtr make(const StartWorker& action);
    /// The process of a lane's current worker, or of the last one; nullptr: none runs, or it is not ours.
    [[nodiscard]] WorkerProcess* process_on(std::size_t lane) const;
    void lane_printed(std::size_t lane);
    std::optional<std::string> dump_by_tool(const WorkerProcess& process);
    std::shared_ptr<CommonProof>& common_proof(std::size_t pool, Generation generation);
    void keep_accepted(std::size_t pool, std::shared_ptr<CommonProof> proof);
    std::shared_ptr<KeptGeneration> kept_of(std::size_t pool, Generation generation);
    void forget_generations(const ReportReload& report);
    void make_warm();
    void write_processes();
    /// Into the lane's log, once for each worker: what its start was made of.
    void log_start(LaneId lane);

    WorkerDeps worker_deps_;
    SupervisorDeps deps_;
    Children children_;
    GpuWatch gpus_;
    Background process_table_;
    std::vector<std::unique_ptr<LaneOutput>> outputs_;  // by lane; none of attached ones
    std::vector<WorkerId> logged_;                      // by lane: whose start is in its log
    struct Dump {
        pid_t root = 0;  // of the tree that it looks at
        std::shared_ptr<Guarded> guarded;
    };
    std::map<std::uint64_t, Dump> dumps_;  // of stacks, the latest of each lane
    Generations generations_;
    Reloads reloads_;
    ProcessDeps process_deps_;
    std::vector<Place> places_;
    std::map<std::pair<std::size_t, Generation>, std::shared_ptr<CommonProof>> common_proofs_;
    std::map<std::pair<std::size_t, Generation>, std::shared_ptr<KeptGeneration>> kept_;
    std::unique_ptr<LaneOutput> warm_output_;
    std::vector<std::shared_ptr<WarmProcess>> warm_;  // by pool; nullptr: its workers start cold
};

}  // namespace turnpike
