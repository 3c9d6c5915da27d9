#include "supervisor/process/worker_process.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "os/cgroup.h"
#include "os/leftovers.h"
#include "os/spawn.h"
#include "supervisor/process/start_text.h"

namespace turnpike {

namespace {

constexpr Duration warm_patience = 5s;      // about as long as a cold start that is worth avoiding
constexpr Duration progress_every = 250ms;  // how often output renews load_timeout

std::string cold_text(const WarmTrouble& why) {
    return "a cold start: " + sentence_of(why, "the warm process");
}

ExitCause cause_of(const WorkerEnd& end) {
    return end.shortage == Shortage::none ? ExitCause::worker : ExitCause::shortage;
}

}  // namespace

WorkerProcess::WorkerProcess(WorkerDeps& deps, ProcessDeps& process_deps, const StartWorker& start,
                             const StartedLane& lane, ProcessUser& user)
    : deps_(deps),
      process_deps_(process_deps),
      worker_(start.worker),
      lane_(start.lane),
      generation_(start.generation),
      started_lane_(lane),
      user_(user) {}

WorkerProcess::~WorkerProcess() {
    if (guarded_ != nullptr) guarded_->abandon();
}

// ── coming up ────────────────────────────────────────────────────────────────────────────────────

void WorkerProcess::begin() {
    asked_at_ = deps_.clock.now();
    facts().started_at = asked_at_;
    output().forget_last_line();
    log_began_ = output().log().newest();
    ++process_deps_.starts;
}

void WorkerProcess::start(Launch launch) {
    launch_ = std::move(launch);
    if (process_deps_.cgroup_home)
        group_ =
            make_cgroup(*process_deps_.cgroup_home,
                        fmt::format("turnpike-{}-{}",
                                    process_deps_.mark.substr(process_deps_.mark.rfind(':') + 1),
                                    process_deps_.starts));
    WarmProcess* const warm = started_lane_.warm.get();
    if (launch_.model.empty() || warm == nullptr) return start_cold();
    if (!warm->is_ready()) {
        if (warm->trouble()) output().remark(cold_text(*warm->trouble()));
        return start_cold();
    }
    if (const auto asked = start_warm(); !asked) warm_failed(asked.error());
}

GuardOrders WorkerProcess::orders() const {
    return {.label = fmt::format("lane {}", lane_.value),
            .open_files = process_deps_.open_files,
            .cgroup = group_,
            .folder = started_lane_.pool.worker.folder,
            .command = launch_.command};
}

void WorkerProcess::attach(WorkerGuard::Ends ends) {
    output().attach(std::move(ends.out), LogStream::out, worker_.value);
    output().attach(std::move(ends.err), LogStream::err, worker_.value);
    link_ = std::move(ends.link);
}

void WorkerProcess::start_cold() {
    guarded_ = process_deps_.make_guard(guarded_user());
    auto ends = guarded_->start(orders(), environment(launch_.variables), launch_.link);
    if (!ends) return could_not_start(ends.error());
    attach(*std::move(ends));
}

std::expected<void, WarmTrouble> WorkerProcess::start_warm() {
    guarded_ = process_deps_.make_guard(guarded_user());
    auto offered = guarded_->offer();
    if (!offered) return std::unexpected(WarmTrouble{WhyCold::no_descriptors, offered.error()});
    const auto asked = started_lane_.warm->fork(
        orders(), launch_.model, environment(launch_.variables), std::move(offered->theirs));
    if (!asked) return asked;
    facts().start.is_warm = true;
    attach(std::move(offered->ends));
    after(warm_patience, [this, asked_of = guarded_] {
        if (guarded_ != asked_of || guarded_->guard() != 0 || has_ended_) return;
        started_lane_.warm->give_up();
        warm_failed(started_lane_.warm->trouble());
    });
    return {};
}

/// Starts the worker cold instead, because no process came from the warm start.
void WorkerProcess::warm_failed(const std::optional<WarmTrouble>& why) {
    output().detach(worker_.value);
    output().remark(cold_text(why.value_or(WarmTrouble{})));
    facts().start.is_warm = false;
    guarded_->abandon();
    if (ordered_ != Reason::none)
        return could_not_start({.told = "it was told to end before it had started"});
    start_cold();
}

std::vector<std::string> WorkerProcess::environment(const Variables& variables) const {
    std::vector<std::string> environment = process_deps_.environment;
    for (const auto& [name, value] : lane_environment(started_lane_.pool, started_lane_.plan,
                                                      lane_.value, process_deps_.machine))
        set_variable(environment, name, value);
    for (const auto& [name, value] : variables) set_variable(environment, name, value);
    set_variable(environment, run_variable, process_deps_.mark);
    return environment;
}

GuardedUser WorkerProcess::guarded_user() {
    return {.started = [this](const ProcessId& process) { started(process); },
            .exited = [this](const WorkerEnd& end) { exited(end); },
            .stuck = [this](const std::string& who) { stuck(who); },
            .gone = [this](const std::vector<pid_t>& pids) { gone(pids); },
            .never_started = [this] { warm_failed(started_lane_.warm->trouble()); }};
}

void WorkerProcess::could_not_start(const StartFailure& why) {
    exited({.how = "it could not be started: " + why.told, .shortage = why.shortage});
    gone({});
}

void WorkerProcess::started(const ProcessId& process) {
    process_ = process;
    started_at_ = deps_.clock.now();
    facts().pid = process.pid;
    facts().start.spawn = started_at_ - asked_at_;
    if (ordered_ == Reason::none) set_trouble({});  // clears the trouble of the previous worker
    output().remark(fmt::format("started{}, pid {}: {}", facts().start.is_warm ? " warm" : "",
                                process.pid, launch_.command));
    known_ = {process};
    if (const auto guard = read_process(guarded_->guard())) known_.push_back(guard->id);
    process_deps_.processes_changed();
    deps_.deliver(WorkerStarted{worker_});
    user_.process_started();
}

void WorkerProcess::came_up() {
    process_deps_.process_table.run(
        [guard = guard()] { return descendants_of(guard, list_processes()); },
        lifeline_.bind([this](const std::vector<ProcessFacts>& tree) {
            if (has_ended_) return;
            for (const ProcessFacts& process : tree)
                if (process.id != process_) known_.push_back(process.id);
            process_deps_.processes_changed();
        }));
}

void WorkerProcess::first_job_took(Duration time) {
    facts().start.first_job = time;
    output().remark(first_job_text(time));
}

void WorkerProcess::progressed() {
    const Instant now = deps_.clock.now();
    const Duration pause = std::min(progress_every, started_lane_.pool.settings.load_timeout / 4);
    if (now - progressed_at_ < pause) return;
    progressed_at_ = now;
    deps_.deliver(LoadProgressed{worker_});
}

// ── the end ──────────────────────────────────────────────────────────────────────────────────────

void WorkerProcess::stuck(const std::string& who) {
    set_trouble(
        {.cause = LaneCause::survives_kill,
         .told = fmt::format("{} survives SIGKILL: it may be stuck in the GPU driver", who)});
    output().remark(fmt::format("{} survives SIGKILL", who));
}

void WorkerProcess::terminate(Reason why) {
    order(why);
    if (guarded_ != nullptr) guarded_->terminate();
}

void WorkerProcess::kill(Reason why) {
    order(why);
    if (guarded_ != nullptr) guarded_->kill();
}

void WorkerProcess::order(Reason why) {
    if (ordered_ != Reason::none || has_ended_) return;
    ordered_ = why;
    trouble_before_ = facts().trouble;
}

void WorkerProcess::exited(const WorkerEnd& end) {
    has_ended_ = true;
    end_ = end;
    ended_at_ = deps_.clock.now();
    keep_inputs();
    facts().pid = 0;
    facts().last_exit = end.how;
    facts().loading.reset();
    output().read_now();  // to get its last words
    if (!was_requested(ordered_)) set_trouble(trouble_of(ending()));
    user_.process_exited(trouble_for_jobs());
    deps_.deliver(WorkerExited{worker_, cause_of(end)});
}

std::string WorkerProcess::last_words() {
    output().read_now();
    return turnpike::last_words(ending());
}

/// If we killed the worker for misbehaving, the jobs aboard get that cause instead of the signal.
Trouble WorkerProcess::trouble_for_jobs() const {
    const bool is_known =
        ordered_ == Reason::misbehaved && trouble_before_.cause == LaneCause::misbehaved;
    return {.cause = is_known ? Cause::worker_ended : Cause::worker_died,
            .told = is_known ? trouble_before_.told : end_.how,
            .said = turnpike::last_words(ending())};
}

WorkerEnding WorkerProcess::ending() const {
    return {.end = end_,
            .ordered = ordered_,
            .load_timeout = started_lane_.pool.settings.load_timeout,
            .trouble_before = trouble_before_,
            .log = started_lane_.output.log(),
            .log_began = log_began_,
            .writer = worker_.value};
}

void WorkerProcess::gone(const std::vector<pid_t>& pids) {
    output().detach(worker_.value);
    if (!was_requested(ordered_)) set_trouble(trouble_of(ending()));
    output().remark("ended: " + end_.how);
    if (!group_.empty()) remove_cgroup(std::exchange(group_, {}));
    user_.process_gone();
    known_.clear();
    process_deps_.processes_changed();
    if (!was_requested(ordered_) && cause_of(end_) == ExitCause::worker)
        process_deps_.crashed(crash_report());
    if (ordered_ == Reason::shutting_down) return finish(Memory::freed, pids);
    process_deps_.gpus.ask_memory(
        lane_, pids, lifeline_.bind([this, pids](Memory memory) { finish(memory, pids); }));
}

void WorkerProcess::finish(Memory memory, const std::vector<pid_t>& pids) {
    guarded_ = nullptr;
    if (memory == Memory::held) process_deps_.gpus.tell_when_freed(lane_, pids);
    deps_.deliver(WorkerGone{worker_, memory});
}

void WorkerProcess::keep_inputs() {
    const CrashConfig& rules = process_deps_.crashes;
    if (!rules.inputs || rules.keep == 0 || was_requested(ordered_)) return;
    std::uint64_t room = rules.input_max.count;  // shared by all inputs
    for (const ExchangePtr& exchange : user_.suspects()) {
        inputs_.push_back(input_of(*exchange, room));
        room -= std::min(room, exchange->body.size());
    }
}

CrashReport WorkerProcess::crash_report() {
    CrashReport report{
        .unix_ns = deps_.clock.unix_ns(ended_at_),
        .lane = lane_.value,
        .pool = started_lane_.pool.name,
        .generation = generation_.value,
        .pid = process_.pid,
        .command = launch_.command,
        .why = std::string(name_of(ordered_ == Reason::none ? Reason::exited : ordered_)),
        .how = end_.how,
        .trouble = text_of(facts().trouble),
        .exit_code = exit_code_of(end_),
        .signal = signal_of(end_),
        .lived = ended_at_ - asked_at_,
        .log = last_lines(ending()),
        .inputs = inputs_};
    if (end_.memory_peak_kib > 0)
        report.memory_peak = Bytes{static_cast<std::uint64_t>(end_.memory_peak_kib) * 1024};
    add_gpus(report, deps_.lanes[lane_.value]);
    return report;
}

void WorkerProcess::after(Duration wait, std::function<void()> then) {
    const auto place = waits_.emplace(waits_.end(), deps_.alarms);
    place->set(wait, [this, place, then = std::move(then)] {
        const auto what = then;  // erasing the alarm destroys this function
        waits_.erase(place);
        what();
    });
}

}  // namespace turnpike
