// The supervisor carries out the engine's actions on workers, and reports to the engine what
// workers do.
#pragma once

#include <cstddef>
#include <cstdint>
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
    std::optional<GpuDriver> driver;  // nullopt if there is no GPU
    std::string folder;               // the runtime folder
    std::string mark;                 // TURNPIKE_RUN
    std::string version;              // of Turnpike
    std::string sdk;                  // the folder of the Python SDK; empty if there is none
    Background& log_disk;             // the thread that writes only logs
    std::string logs;                 // the folder of the lanes' logs; empty if they are not kept
    std::vector<std::string> environment;  // of the `up` command
    std::uint64_t open_files = 0;          // soft limit for workers
    std::function<std::uint64_t()> random;
    std::function<void(CrashReport)> crashed;
    /// Called before a worker starts, so that the files that it needs are there (keep_files_in()).
    std::function<void()> files_needed = nullptr;
    MakeGuard make_guard = {};  // empty for guards of real processes
    LookAtPort look_at_port = turnpike::look_at_port;
    LookAtSocket look_at_socket = turnpike::look_at_socket;
    ListenerAt listener_at = make_listener_lookup();
};

class Supervisor {
public:
    Supervisor(WorkerDeps worker_deps, SupervisorDeps deps);
    /// After Leave, CHECKs that every worker is gone, except those that survived a kill, and that
    /// none that is gone still holds an exchange.
    ~Supervisor();

    void carry_out(const StartWorker& action);
    void carry_out(const StopWorker& action);
    void carry_out(const KillWorker& action);
    void carry_out(const SendJob& action);
    void carry_out(const CancelAttempt& action);
    void carry_out(const ProbeWorker& action);
    void carry_out(const ProveWorker& action);
    /// Notes that this is an orderly end: no job lives, and every worker has ended.
    void carry_out(const Leave&) { stage_ = Stage::over; }
    /// From now on the lane's facts are those of the next worker.
    void observe(const ReportSwitch& report);
    /// Dumps the stacks of the worker that runs the slow job.
    void observe(const ReportSlowJob& report);
    /// Logs the start of a lane that serves now, and tells the reloads.
    void observe(const ReportLane& report);
    /// Records the answers that the reload accepted, and removes generations that no worker will
    /// start with any more.
    void observe(const ReportReload& report);

    /// Starts a reload of the pool to its code as it is now. Returns an error message if Turnpike
    /// did not start the pool's workers.
    std::expected<ReloadBegun, std::string> reload(PoolId pool, ReloadOrder order) {
        return reloads_.ask(pool.value, std::move(order));
    }
    /// Looks after the files that workers are started from. Must be called now and then, and before
    /// workers start after `folder` was made anew or replaced by another one.
    void keep_files_in(const std::string& folder, const std::string& sdk);
    [[nodiscard]] Reloads& reloads() { return reloads_; }
    /// Returns a message for people about pools whose warm process is slow. Returns each message
    /// only once. Empty if there is nothing new.
    [[nodiscard]] std::string warm_news();
    /// Accepts whatever this generation answers to the model's example as right, even if another
    /// answer is recorded. Once the generation has become good, its answer becomes the recording.
    /// Must be called before the generation's first worker starts.
    void accept_answers(PoolId pool, Generation generation);

    /// Dumps the stacks of the lane's worker to the lane's log. Returns an error message if it
    /// cannot.
    std::optional<std::string> dump_stacks(LaneId lane);

    /// Returns the log of a lane. Returns nullptr if there is no such lane or Turnpike does not
    /// start its workers.
    [[nodiscard]] const LaneLog* log_of(std::size_t lane) const;
    /// Returns why some lane's log is not written to disk. Empty if all logs are written.
    [[nodiscard]] std::string log_problem() const;
    /// True if a call of the GPU driver is still under way. It may never return, so the process
    /// must end without joining the thread of that call.
    [[nodiscard]] bool is_hanging() const { return gpus_.is_hanging(); }
    /// Returns how many exchanges the workers hold.
    [[nodiscard]] std::size_t exchanges_held() const;

private:
    enum class Stage : std::uint8_t { serving, over };
    using WorkerPtr = std::unique_ptr<LaneWorker>;

    struct WorkerPlace {
        WorkerId id;
        WorkerPtr worker;
    };

    void check_that_all_ended() const;
    /// Returns the place of this worker id, whether or not a worker is there. The low half of an id
    /// is an index into places_.
    WorkerPlace& place_of(WorkerId worker);
    [[nodiscard]] LaneWorker* find(WorkerId worker) const;
    WorkerPtr make(const StartWorker& action);
    /// Returns the process of the lane's current worker, or of its last one. nullptr if there was
    /// none or Turnpike did not start it.
    [[nodiscard]] WorkerProcess* process_on(std::size_t lane) const;
    void lane_printed(std::size_t lane);
    std::optional<std::string> dump_by_tool(const WorkerProcess& process);
    std::shared_ptr<CommonProof>& common_proof(std::size_t pool, Generation generation);
    void record_accepted_answer(std::size_t pool, std::shared_ptr<CommonProof> proof);
    std::shared_ptr<KeptGeneration> kept_generation(std::size_t pool, Generation generation);
    void forget_generations(const ReportReload& report);
    void make_warm();
    void keep_sources_of(std::size_t pool);
    void move_files_to(const std::string& folder, const std::string& sdk);
    /// Writes the pids that this gate started to its runtime folder, for the gate that comes after it.
    void write_processes();
    /// Writes how long each phase of the worker's start took to the lane's log, once per worker.
    void log_start(LaneId lane);

    Stage stage_ = Stage::serving;
    WorkerDeps worker_deps_;
    SupervisorDeps deps_;
    Children children_;
    GpuWatch gpus_;
    Background process_table_;
    std::vector<std::unique_ptr<LaneOutput>> outputs_;  // by lane; nullptr for attached workers
    std::vector<WorkerId> logged_;  // by lane: the worker whose start was logged last
    struct Dump {
        pid_t root = 0;  // the process tree whose stacks are dumped
        std::shared_ptr<Guarded> guarded;
    };
    std::map<std::uint64_t, Dump> dumps_;  // the latest stack dump of each lane
    Generations generations_;
    Reloads reloads_;
    ProcessDeps process_deps_;
    std::vector<WorkerPlace> places_;
    std::map<std::pair<std::size_t, Generation>, std::shared_ptr<CommonProof>> common_proofs_;
    std::map<std::pair<std::size_t, Generation>, std::shared_ptr<KeptGeneration>> kept_;
    std::unique_ptr<LaneOutput> warm_output_;
    std::vector<std::shared_ptr<WarmProcess>> warm_;  // by pool; nullptr if its workers start cold
};

}  // namespace turnpike
