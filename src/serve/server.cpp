#include "serve/server.h"

#include <sys/random.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "os/random_bits.h"
#include "os/spawn.h"
#include "serve/action_router.h"
#include "setup/environment.h"
#include "setup/sdk.h"
#include "telemetry/oom.h"

namespace turnpike {
namespace {

constexpr Duration look_every = 250ms;     // for silent clients, changed files, and messages
constexpr Duration files_every = 1s;       // for files that somebody removed
constexpr Duration touch_every = 1h;       // so that nobody cleans up the runtime folder
constexpr Duration disk_patience = 2s;     // at the end, for what must still be written
constexpr Duration last_patience = 200ms;  // after the second signal

std::vector<LaneFacts> facts_of(const UpInputs& inputs) {
    std::vector<LaneFacts> facts;
    for (const LanePlan& lane : inputs.checked.lanes) {
        LaneFacts& fact = facts.emplace_back();
        if (lane.url != nullptr) fact.worker = lane.url->text;
        for (const Gpu& gpu : lane.gpus) {
            fact.gpu +=
                (fact.gpu.empty() ? "" : ",") + (gpu.index ? std::to_string(*gpu.index) : gpu.uuid);
            fact.gpus.push_back({.index = gpu.index,
                                 .uuid = gpu.uuid,
                                 .name = gpu.name,
                                 .memory_total = gpu.memory_total,
                                 .memory_used = {}});
        }
    }
    return facts;
}

/// SIGHUP is ignored under nohup, for example.
bool is_ignored(int signal) {
    struct sigaction now{};
    return ::sigaction(signal, nullptr, &now) != 0 || now.sa_handler == SIG_IGN;
}

std::string state_subfolder(const UpInputs& inputs, const char* folder) {
    return inputs.state_folder.empty() ? "" : inputs.state_folder + '/' + folder;
}

}  // namespace

Server::Server(UpInputs inputs)
    : inputs_(std::move(inputs)),
      keys_(inputs_.key_file, key_need(config_.gate)),
      listener_(loop_),
      files_({.folder = inputs_.folder,
              .listener = listener_,
              .sdk = inputs_.sdk_folder,
              .temporary = temporary_folder()}),
      lanes_(facts_of(inputs_)),
      pools_(config_.pools.size()),
      crashes_(config_.crashes.keep),
      engine_(engine_settings(config_, random_bits())),
      driver_(loop_, engine_, clock_, wakeups_),
      reporter_(config_, lanes_, clock_, inputs_.name),
      store_{.disk = background_,
             .folder = config_.gate.spool,
             .answer_max = static_cast<std::size_t>(config_.gate.answer_buffer.count),
             .left_for_bodies = config_.bytes_max.count},
      signals_(loop_, SIGINT, SIGTERM),
      look_timer_(loop_) {
    if (!is_ignored(SIGHUP)) signals_.add(SIGHUP);
    reporter_.follow_reloads(pools_);
}

/// If another signal comes while the last things are written, the process exits at once, with
/// success. Without this, the signal would kill it.
Server::~Server() {
    signals_.clear();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        if (!is_ignored(signal)) std::signal(signal, [](int) { ::_exit(EXIT_SUCCESS); });
}

GateDeps Server::gate_deps() {
    return {.config = config_,
            .engine = engine_,
            .wakeups = wakeups_,
            .exchanges = exchanges_,
            .store = store_,
            .digests = digests_,
            .clock = clock_,
            .keys = keys_,
            .log = *inputs_.log,
            .lanes = lanes_,
            .crashes = crashes_,
            .log_of = [this](std::size_t lane) { return supervisor_->log_of(lane); },
            .deliver = deliver(),
            .secret = random_bits(),
            .dump_stacks = [this](LaneId lane) { return supervisor_->dump_stacks(lane); },
            .reload_of =
                [this](PoolId pool) {
                    const auto& reload = pools_[pool.value].reload;
                    return reload ? &*reload : nullptr;
                },
            .reload =
                [this](PoolId pool, ReloadOrder order) {
                    return supervisor_->reload(pool, std::move(order));
                }};
}

SupervisorDeps Server::supervisor_deps() {
    return {.config = config_,
            .machine = inputs_.checked.machine,
            .plan = inputs_.checked.lanes,
            .pools = pools_,
            .driver = inputs_.driver,
            .folder = inputs_.run.folder,
            .mark = mark_of(inputs_.run),
            .version = inputs_.version,
            .sdk = inputs_.sdk_folder,
            .log_disk = log_disk_,
            .logs = state_subfolder(inputs_, "lanes"),
            .environment = own_environment(),
            .open_files = inputs_.files.before,
            .random = random_bits,
            .crashed = [this](CrashReport report) { store_crash_report(std::move(report)); },
            .files_needed = [this] { look_after_files(); }};
}

std::optional<std::string> Server::open() {
    if (auto objection = objection_to_listening(config_.gate, keys_)) return objection;
    const auto bound = listener_.bind(config_.gate.listen);
    if (!bound) return bound.error();
    if (const auto done = listener_.bind_unix(inputs_.folder.path_of("socket")); !done)
        return done.error();
    if (UniqueFd named = inputs_.folder.named_socket()) listener_.adopt_unix(std::move(named));
    if (!inputs_.state_folder.empty()) crashes_.load(state_subfolder(inputs_, "crashes"));
    gate_.emplace(gate_deps(), *bound);
    supervisor_.emplace(WorkerDeps{.loop = loop_,
                                   .wakeups = wakeups_,
                                   .alarms = alarms_,
                                   .dialer = dialer_,
                                   .store = store_,
                                   .exchanges = exchanges_,
                                   .background = background_,
                                   .clock = clock_,
                                   .lanes = lanes_,
                                   .deliver = deliver()},
                        supervisor_deps());
    ActionRouter router(*gate_, *supervisor_, reporter_, [this] { is_leaving_ = true; });
    driver_.set_carry_out([router](const Action& action) mutable { router.carry_out(action); });
    reporter_.opened(*bound, keys_.is_required());
    return std::nullopt;
}

/// True if the worker's generation never served. Its reload then reports the crash.
bool Server::is_from_unserved_generation(const CrashReport& report) {
    const std::size_t pool = inputs_.checked.lanes[report.lane].pool;
    return engine_.view(clock_.now()).pools[pool].good.value < report.generation;
}

void Server::store_crash_report(CrashReport report) {
    TerminalReporter::Crash crash{.lane = report.lane, .trouble = report.trouble, .report = {}};
    const bool is_new_code = is_from_unserved_generation(report);
    if (config_.crashes.keep == 0) return is_new_code ? void() : reporter_.tell(crash);
    log_disk_.run(
        [folder = state_subfolder(inputs_, "crashes"), keep = config_.crashes.keep,
         state = inputs_.state_folder, report = std::move(report)]() mutable {
            // It may have been removed. If it can't be made, store() says what is wrong.
            if (!state.empty()) std::ignore = make_private_folder(state);
            report.oom_line = oom_line_about(report.pid, report.lived);
            for (CrashInput& input : report.inputs)
                if (input.fetch_body) input.body = input.fetch_body();
            return RecentCrashes::store(folder, report, keep);
        },
        [this, is_new_code, crash = std::move(crash)](RecentCrashes::Stored stored) mutable {
            crash.report = stored.crash.id;
            crash_problem_ = std::move(stored.problem);
            if (!is_new_code) reporter_.tell(crash);
            crashes_.add(std::move(stored.crash));
        });
}

void Server::watch_signals() {
    signals_.async_wait([this](boost::system::error_code error, int) {
        if (error) return;
        const bool is_first = ++signals_seen_ == 1;
        leave_by_ = later(clock_.now(), is_first ? config_.gate.shutdown_patience : last_patience);
        listener_.stop_tcp();
        reporter_.stopping(is_first, config_.gate.shutdown_patience, engine_.view(clock_.now()));
        gate_->shut_down();
        driver_.deliver(
            ShutdownAsked{is_first ? config_.gate.shutdown_patience : Duration::zero()});
        watch_signals();
    });
}

void Server::check_periodically() {
    look_timer_.expires_after(look_every);
    look_timer_.async_wait([this](boost::system::error_code error) {
        if (error) return;
        gate_->tick();
        if (clock_.now() - touched_at_ > touch_every) {
            touched_at_ = clock_.now();
            inputs_.folder.touch();
            if (!files_.sdk().empty()) touch_sdk(files_.sdk());
            background_.run(
                [folder = files_.folder()] {
                    touch_generations(folder);
                    return 0;
                },
                [](int) {});
        }
        if (clock_.now() - files_looked_at_ > files_every) look_after_files();
        const std::string log_problem = supervisor_->log_problem();
        reporter_.report_changes({.job_log = inputs_.log->problem(),
                                  .lane_logs = log_problem.empty() ? crash_problem_ : log_problem,
                                  .keys = keys_.problem(),
                                  .watch = supervisor_->reloads().watch_problem(),
                                  .runtime_folder = files_.problem()});
        reporter_.remark(files_.take_news());
        supervisor_->reloads().look();
        reporter_.remark(supervisor_->reloads().watch_news());
        reporter_.remark(supervisor_->warm_news());
        check_periodically();
    });
}

/// Called now and then, and before each start of a worker.
void Server::look_after_files() {
    files_looked_at_ = clock_.now();
    files_.look();
    supervisor_->keep_files_in(files_.folder(), files_.sdk());
}

void Server::serve() {
    watch_signals();
    check_periodically();
    listener_.start(*gate_);
    driver_.deliver(GateOpened{});
    driver_.turn();
    while (!is_leaving_) {
        clock_.forget();
        loop_.run_one();
        driver_.turn();
    }
    // Answers that are under way may still be sent until the shutdown's patience is over.
    while (gate_->connections() > 0 && clock_.now() < leave_by_) run_for(look_every);
    gate_->close_all();
    exchanges_.expect_dropped(supervisor_->exchanges_held());
    inputs_.log->flush();
    const Instant give_up_at = later(clock_.now(), disk_patience);
    while (has_busy_threads() && clock_.now() < give_up_at) run_for(look_every);
    reporter_.stopped();
}

/// Runs one handler of the loop, but waits for it at most this long.
void Server::run_for(Duration time) {
    clock_.forget();
    loop_.run_one_for(time);
    clock_.forget();
    driver_.turn();
}

}  // namespace turnpike
