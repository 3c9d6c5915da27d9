#include "supervisor/supervisor.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/utc.h"
#include "os/cgroup.h"
#include "os/leftovers.h"
#include "os/spawn.h"
#include "supervisor/http/attached_worker.h"
#include "supervisor/http/started_worker.h"
#include "supervisor/native/native_worker.h"
#include "supervisor/process/stacks.h"
#include "supervisor/process/start_text.h"

namespace turnpike {
namespace {

/// Returns the environment that workers inherit. Python must not buffer its output, because the
/// output holds the last words before a crash.
std::vector<std::string> for_workers(std::vector<std::string> environment) {
    std::erase_if(environment,
                  [](const std::string& entry) { return entry.starts_with("TURNPIKE_KEY"); });
    if (!has_variable(environment, "PYTHONUNBUFFERED"))
        set_variable(environment, "PYTHONUNBUFFERED", "1");
    return environment;
}

std::vector<std::size_t> pools_of(const std::vector<LanePlan>& plan) {
    std::vector<std::size_t> pools;
    for (const LanePlan& lane : plan) pools.push_back(lane.pool);
    return pools;
}

MakeGuard make_guard_of(boost::asio::io_context& loop, Children& children, MakeGuard given) {
    if (given) return given;
    return [&loop, &children](GuardedUser user) {
        return std::make_shared<Guarded>(loop, children, std::move(user));
    };
}

LookAtGpu look_of(const std::optional<GpuDriver>& driver) {
    if (!driver || !driver->can_look()) return {};
    return [driver = *driver](const std::string& uuid) { return driver.look(uuid); };
}

bool is_started(const LanePlan& lane) { return lane.url == nullptr; }

}  // namespace

Supervisor::Supervisor(WorkerDeps worker_deps, SupervisorDeps deps)
    : worker_deps_(std::move(worker_deps)),
      deps_(std::move(deps)),
      children_(worker_deps_.loop),
      gpus_({.loop = worker_deps_.loop,
             .alarms = worker_deps_.alarms,
             .look = look_of(deps_.driver),
             .plan = deps_.plan,
             .lanes = worker_deps_.lanes,
             .deliver = worker_deps_.deliver}),
      process_table_(worker_deps_.loop, "tp-look"),
      generations_(deps_.folder, deps_.config.pools),
      reloads_({.loop = worker_deps_.loop,
                .disk = worker_deps_.background,
                .clock = worker_deps_.clock,
                .config = deps_.config.pools,
                .pool_of = pools_of(deps_.plan),
                .lanes = worker_deps_.lanes,
                .pools = deps_.pools,
                .generations = generations_,
                .log_of = [this](std::size_t lane) { return log_of(lane); },
                .accepted = [this](PoolId pool,
                                   Generation generation) { accept_answers(pool, generation); },
                .deliver = worker_deps_.deliver}),
      process_deps_{
          .make_guard = make_guard_of(worker_deps_.loop, children_, deps_.make_guard),
          .gpus = gpus_,
          .process_table = process_table_,
          .look_at_port = deps_.look_at_port,
          .look_at_socket = deps_.look_at_socket,
          .listener_at = deps_.listener_at,
          .machine = deps_.machine,
          .crashes = deps_.config.crashes,
          .folder = deps_.folder,
          .mark = deps_.mark,
          .sdk = deps_.sdk,
          .environment = for_workers(deps_.environment),
          .cgroup_home = cgroup_home(),
          .open_files = deps_.open_files,
          .random = deps_.random,
          .crashed = deps_.crashed,
          .processes_changed = [this] { write_processes(); },
          .dump_stacks_by_tool =
              [this](const WorkerProcess& process) { std::ignore = dump_by_tool(process); }} {
    for (std::size_t lane = 0; lane < deps_.plan.size(); ++lane) {
        outputs_.emplace_back();
        if (!is_started(deps_.plan[lane])) continue;
        const LogConfig& log = deps_.config.log;
        outputs_.back() = std::make_unique<LaneOutput>(
            LaneOutputDeps{.loop = worker_deps_.loop,
                           .disk = deps_.log_disk,
                           .clock = worker_deps_.clock,
                           .on_output = [this, lane] { lane_printed(lane); }},
            LogFile{.path = deps_.logs.empty() ? "" : fmt::format("{}/{}.log", deps_.logs, lane),
                    .size_max = log.lane_size_max,
                    .keep = log.lane_keep});
    }
    make_warm();
    if (process_deps_.cgroup_home) remove_dead_cgroups(*process_deps_.cgroup_home);
    gpus_.start();
}

Supervisor::~Supervisor() {
    if (stage_ == Stage::over) check_that_all_ended();
    for (const auto& warm : warm_)
        if (warm != nullptr) warm->close();
}

/// A worker that survived a kill, such as one that is stuck in the GPU driver, was told to end.
void Supervisor::check_that_all_ended() const {
    for (const WorkerPlace& place : places_) {
        if (place.worker == nullptr) continue;
        if (place.worker->is_gone()) {
            CHECK(place.worker->exchanges_held() == 0);
        } else {
            const WorkerProcess* process = place.worker->process();
            CHECK(process != nullptr && process->is_ending());
        }
    }
}

std::size_t Supervisor::exchanges_held() const {
    std::size_t held = 0;
    for (const WorkerPlace& place : places_)
        if (place.worker != nullptr) held += place.worker->exchanges_held();
    return held;
}

/// Makes a WarmProcess for each pool with a Python model, unless the pool has `warm = false`. The
/// WarmProcess starts its process once the first worker has shown what it imports.
void Supervisor::make_warm() {
    const LogConfig& log = deps_.config.log;
    if (warm_output_ == nullptr)
        warm_output_ = std::make_unique<LaneOutput>(
            LaneOutputDeps{
                .loop = worker_deps_.loop, .disk = deps_.log_disk, .clock = worker_deps_.clock},
            LogFile{.path = deps_.logs.empty() ? "" : deps_.logs + "/warm.log",
                    .size_max = log.lane_size_max,
                    .keep = log.lane_keep});
    warm_.resize(deps_.config.pools.size());
    for (std::size_t i = 0; i < warm_.size(); ++i) {
        const WorkerConfig& worker = deps_.config.pools[i].worker;
        if (worker.model.kind != ModelChoice::Kind::python || !worker.warm) continue;
        std::vector<std::string> environment = process_deps_.environment;
        for (const auto& [name, value] : worker.env) set_variable(environment, name, value);
        for (const auto& [name, value] :
             python_variables(worker, process_deps_.environment, process_deps_.sdk))
            set_variable(environment, name, value);
        set_variable(environment, run_variable, process_deps_.mark);
        set_variable(environment, "TURNPIKE_SOCKET", std::to_string(link_descriptor));
        warm_[i] = std::make_shared<WarmProcess>(
            worker_deps_.loop, children_, *warm_output_,
            WarmSpec{.python = worker.python,
                     .script = process_deps_.sdk + "/turnpike_worker.py",
                     .imports = generations_.home(i) + "/imports",
                     .preload = worker.preload,
                     .environment = std::move(environment),
                     .import_max = deps_.config.pools[i].settings.load_timeout});
    }
}

Supervisor::WorkerPtr Supervisor::make(const StartWorker& action) {
    const std::size_t lane = action.lane.value;
    const LanePlan& plan = deps_.plan.at(lane);
    const PoolConfig& pool = deps_.config.pools[plan.pool];
    auto proof = common_proof(plan.pool, action.generation);
    if (!is_started(plan))
        return std::make_unique<AttachedWorker>(worker_deps_, action, pool, *plan.url,
                                                std::move(proof));
    const StartedLane at{.pool = pool,
                         .plan = plan,
                         .output = *outputs_[lane],
                         .proof = std::move(proof),
                         .kept = kept_generation(plan.pool, action.generation),
                         .warm = warm_[plan.pool]};
    WorkerPtr worker;
    if (pool.is_native())
        worker = std::make_unique<NativeWorker>(worker_deps_, process_deps_, action, at);
    else
        worker = std::make_unique<StartedWorker>(worker_deps_, process_deps_, action, at);
    return worker;
}

void Supervisor::carry_out(const StartWorker& action) {
    worker_deps_.lanes[action.lane.value].begin(action);
    reloads_.observe(action);
    WorkerPlace& place = place_of(action.worker);
    CHECK(place.worker == nullptr || place.worker->is_gone());
    if (is_started(deps_.plan.at(action.lane.value)) && deps_.files_needed) deps_.files_needed();
    place = {.id = action.worker, .worker = make(action)};
    place.worker->start();
}

void Supervisor::carry_out(const StopWorker& action) {
    if (LaneWorker* worker = find(action.worker)) worker->stop(action.reason);
}

void Supervisor::carry_out(const KillWorker& action) {
    if (LaneWorker* worker = find(action.worker)) worker->kill(action.reason);
}

void Supervisor::carry_out(const SendJob& action) {
    if (LaneWorker* worker = find(action.worker)) worker->send(action);
}

void Supervisor::carry_out(const CancelAttempt& action) {
    if (LaneWorker* worker = find(action.worker)) worker->cancel(action.attempt);
}

void Supervisor::carry_out(const ProbeWorker& action) {
    if (LaneWorker* worker = find(action.worker)) worker->probe(action.probe);
}

void Supervisor::carry_out(const ProveWorker& action) {
    if (LaneWorker* worker = find(action.worker)) worker->prove(action.proof);
}

void Supervisor::observe(const ReportSwitch& report) {
    worker_deps_.lanes[report.lane.value].switch_over();
    log_start(report.lane);
}

void Supervisor::observe(const ReportLane& report) {
    reloads_.observe(report);
    if (is_serving(report.state)) log_start(report.lane);
}

void Supervisor::log_start(LaneId lane) {
    const WorkerFacts& worker = worker_deps_.lanes[lane.value].now;
    logged_.resize(outputs_.size());
    WorkerId& logged = logged_[lane.value];
    if (outputs_[lane.value] == nullptr || std::exchange(logged, worker.id) == worker.id) return;
    outputs_[lane.value]->remark(start_text(worker.start));
    keep_sources_of(deps_.plan[lane.value].pool);
}

void Supervisor::observe(const ReportSlowJob& report) {
    LaneWorker* worker = find(report.worker);
    const WorkerProcess* process = worker == nullptr ? nullptr : worker->process();
    if (process == nullptr || process->guard() == 0) return;
    if (!worker->ask_stacks(report.attempt)) std::ignore = dump_by_tool(*process);
}

WorkerProcess* Supervisor::process_on(std::size_t lane) const {
    LaneWorker* worker = find(worker_deps_.lanes[lane].now.id);
    return worker == nullptr ? nullptr : worker->process();
}

/// Tells the workers that are coming up on this lane that one of them printed something.
void Supervisor::lane_printed(std::size_t lane) {
    const LaneFacts& facts = worker_deps_.lanes[lane];
    for (const WorkerId id : {facts.now.id, facts.next.id})
        if (LaneWorker* worker = find(id)) worker->process_printed();
}

std::optional<std::string> Supervisor::dump_stacks(LaneId lane) {
    const WorkerProcess* process = process_on(lane.value);
    if (process == nullptr) return "its worker was not started by Turnpike";
    if (process->guard() == 0) return "its worker is not running now";
    LaneWorker* worker = find(process->id());
    if (worker != nullptr && worker->ask_stacks({})) return std::nullopt;
    return dump_by_tool(*process);
}

std::optional<std::string> Supervisor::dump_by_tool(const WorkerProcess& process) {
    const std::size_t lane = process.lane().value;
    const pid_t guard = process.guard();
    auto& [root, latest] = dumps_[lane];
    if (latest != nullptr && !latest->is_gone()) {
        if (root == guard) return "a dump is already under way: see the lane's log";
        latest->kill();  // the worker whose stacks it dumps has ended
    }
    root = guard;
    std::vector<std::string> environment = process_deps_.environment;
    set_variable(environment, run_variable, process_deps_.mark);
    auto dump = turnpike::dump_stacks({.loop = worker_deps_.loop,
                                       .children = children_,
                                       .output = *outputs_[lane],
                                       .root = guard,
                                       .environment = std::move(environment)});
    if (!dump) return std::move(dump.error());
    latest = std::move(*dump);
    return std::nullopt;
}

const LaneLog* Supervisor::log_of(std::size_t lane) const {
    return lane < outputs_.size() && outputs_[lane] != nullptr ? &outputs_[lane]->log() : nullptr;
}

std::string Supervisor::warm_news() {
    std::string text;
    for (std::size_t i = 0; i < warm_.size(); ++i) {
        const std::string news = warm_[i] == nullptr ? "" : warm_[i]->take_news();
        if (!news.empty())
            text += fmt::format("{}pool {}: {}", text.empty() ? "" : "; ",
                                deps_.config.pools[i].name, news);
    }
    return text;
}

std::string Supervisor::log_problem() const {
    for (const auto& output : outputs_)
        if (output != nullptr && !output->problem().empty()) return output->problem();
    return {};
}

Supervisor::WorkerPlace& Supervisor::place_of(WorkerId worker) {
    const auto place = static_cast<std::uint32_t>(worker.value);
    if (place >= places_.size()) places_.resize(place + 1);
    return places_[place];
}

LaneWorker* Supervisor::find(WorkerId worker) const {
    const auto place = static_cast<std::uint32_t>(worker.value);
    if (worker.is_none() || place >= places_.size() || places_[place].id != worker) return nullptr;
    return places_[place].worker.get();
}

std::shared_ptr<CommonProof>& Supervisor::common_proof(std::size_t pool, Generation generation) {
    auto& proof = common_proofs_[{pool, generation}];
    const ModelChoice& model = deps_.config.pools[pool].worker.model;
    if (proof == nullptr)
        proof = std::make_shared<CommonProof>(AnswerGroups{},
                                              RecordedProof{recording_path(model), model.text});
    return proof;
}

void Supervisor::accept_answers(PoolId pool, Generation generation) {
    worker_deps_.background.run(
        [proof = common_proof(pool.value, generation)] {
            proof->recorded.accept();
            return 0;
        },
        [](int) {});
}

void Supervisor::observe(const ReportReload& report) {
    reloads_.observe(report);
    forget_generations(report);
    const std::size_t pool = report.pool.value;
    const bool is_good = report.end == ReloadEnd::spread;
    if (is_good) record_accepted_answer(pool, common_proof(pool, report.generation));
    std::erase_if(common_proofs_, [&](const auto& entry) {
        const auto& [of, generation] = entry.first;
        if (of != pool) return false;
        return is_good ? generation < report.generation : generation == report.generation;
    });
}

void Supervisor::record_accepted_answer(std::size_t pool, std::shared_ptr<CommonProof> proof) {
    RecordedProof::Stamp stamp{.recorded = {}, .turnpike = deps_.version};
    append_utc(stamp.recorded, worker_deps_.clock.unix_ns(worker_deps_.clock.now()));
    worker_deps_.background.run([proof = std::move(proof),
                                 stamp = std::move(stamp)] { return proof->recorded.keep(stamp); },
                                [this, pool](const std::expected<bool, std::string>& kept) {
                                    for (std::size_t lane = 0; lane < deps_.plan.size(); ++lane)
                                        if (deps_.plan[lane].pool == pool && !kept)
                                            worker_deps_.lanes[lane].now.proof.remark =
                                                kept.error();
                                });
}

std::shared_ptr<KeptGeneration> Supervisor::kept_generation(std::size_t pool,
                                                            Generation generation) {
    auto& kept = kept_[{pool, generation}];
    if (kept != nullptr) return kept;
    kept = std::make_shared<KeptGeneration>(
        KeptGeneration{.folder = generations_.folder(pool, generation)});
    const ModelChoice& model = deps_.config.pools[pool].worker.model;
    if (model.kind != ModelChoice::Kind::program) return kept;
    kept->program = KeptProgram(model.path, kept->folder);
    if (kept->folder.empty()) return kept;
    worker_deps_.background.run([program = kept->program] { return program.copy(); },
                                [kept](bool is_done) {
                                    if (is_done) kept->program.copied();
                                });
    return kept;
}

/// Removes the generations that no worker will start with any more.
void Supervisor::forget_generations(const ReportReload& report) {
    std::vector<std::string> folders;
    std::erase_if(kept_, [&](const auto& entry) {
        const auto& [pool, generation] = entry.first;
        const bool is_over = report.end == ReloadEnd::spread ? generation < report.generation
                                                             : generation == report.generation;
        if (pool != report.pool.value || !is_over) return false;
        folders.push_back(entry.second->folder);
        return true;
    });
    worker_deps_.background.run(
        [folders = std::move(folders)] {
            for (const std::string& folder : folders) remove_generation(folder);
            return 0;
        },
        [](int) {});
}

/// Reads the sources that the pool's workers have imported, before anybody can remove them.
void Supervisor::keep_sources_of(std::size_t pool) {
    for (auto& [key, kept] : kept_)
        if (key.first == pool && kept->has_come_up) kept->sources.look(kept->folder);
}

/// Sources are looked after once a worker has come up with them: until then they may be forgotten.
void Supervisor::keep_files_in(const std::string& folder, const std::string& sdk) {
    if (folder != process_deps_.folder) move_files_to(folder, sdk);
    generations_.move_to(folder);
    for (auto& [key, kept] : kept_) {
        kept->folder = generations_.folder(key.first, key.second);
        if (kept->folder.empty()) continue;
        if (kept->has_come_up) kept->sources.look(kept->folder);
        std::ignore = kept->program.move_to(kept->folder);
    }
    if (folder == deps_.folder && !are_processes_written(folder)) write_processes();
}

/// Workers that run keep the paths that they were given. A warm process would fork workers that
/// look for files in the old folder, so there are new ones.
void Supervisor::move_files_to(const std::string& folder, const std::string& sdk) {
    process_deps_.folder = folder;
    process_deps_.sdk = sdk;
    generations_.move_to(folder);
    for (const auto& warm : warm_)
        if (warm != nullptr) warm->close();
    warm_.clear();
    make_warm();
}

/// Writes the known processes to a file, so that the next gate can find them if this gate is
/// killed.
void Supervisor::write_processes() {
    KnownProcesses known;
    for (const WorkerPlace& place : places_) {
        const WorkerProcess* process = place.worker == nullptr ? nullptr : place.worker->process();
        if (process == nullptr) continue;
        known.processes.insert(known.processes.end(), process->known_processes().begin(),
                               process->known_processes().end());
        if (!process->group().empty()) known.groups.push_back(process->group());
    }
    worker_deps_.background.run(
        [folder = deps_.folder, known = std::move(known)] {
            write_known(folder, known);
            return 0;
        },
        [](int) {});
}

}  // namespace turnpike
