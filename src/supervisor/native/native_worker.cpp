#include "supervisor/native/native_worker.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "supervisor/reload/generations.h"
#include "wire/encode.h"

namespace turnpike {

namespace {

constexpr Duration hello_expected = 10s;  // if none came by then, people are told
constexpr Duration exit_delay = 250ms;    // how late an exit may be reported after the link ended
constexpr Duration stacks_patience = 2s;  // after that, py-spy dumps them instead

std::uint16_t narrow(std::size_t value) {
    return static_cast<std::uint16_t>(std::min<std::size_t>(value, UINT16_MAX));
}

std::optional<std::uint16_t> told_permille(std::uint16_t permille) {
    return permille == wire::permille_unknown ? std::nullopt : std::optional(permille);
}

}  // namespace

NativeWorker::NativeWorker(WorkerDeps& deps, ProcessDeps& process_deps, const StartWorker& start,
                           const StartedLane& lane)
    : deps_(deps),
      process_deps_(process_deps),
      worker_(start.worker),
      lane_(start.lane),
      generation_(start.generation),
      started_lane_(lane),
      process_(deps, process_deps, start, lane, *this),
      hello_alarm_(deps.alarms),
      link_(deps.loop, deps.wakeups, deps.alarms, *this),
      attempts_({.deps = deps,
                 .worker = worker_,
                 .link = link_,
                 .conversation = conversation_,
                 .has_gpu = !lane.plan.gpus.empty(),
                 .first_job_took = [this](Duration time) { process_.first_job_took(time); }}),
      proof_({.deps = deps,
              .process = process_,
              .lane = started_lane_,
              .number = lane_,
              .generation = generation_,
              .link = link_,
              .conversation = conversation_}) {}

// ── coming up ────────────────────────────────────────────────────────────────────────────────────

void NativeWorker::start() {
    process_.begin();
    const WorkerConfig& worker = started_lane_.pool.worker;
    const bool is_python = worker.model.kind == ModelChoice::Kind::python;
    WorkerProcess::Launch launch{
        .command = is_python ? python_command(worker, process_deps_.sdk)
                             : program_command(started_lane_.kept->program.path()),
        .link = WorkerGuard::Link::socket,
        .variables = {{"TURNPIKE_SOCKET", std::to_string(link_descriptor)}}};
    if (is_python) {
        launch.model = model_argument(worker.model);
        for (auto& variable :
             python_variables(worker, process_deps_.environment, process_deps_.sdk))
            launch.variables.push_back(std::move(variable));
        launch.variables.emplace_back("TURNPIKE_GENERATION", started_lane_.kept->folder);
    }
    process_.start(std::move(launch));
}

/// Opens the link only now, so that no frame is handled before the engine knows that the worker
/// runs.
void NativeWorker::process_started() {
    if (state_ == State::starting) link_.open(process_.take_link());
    hello_alarm_.set(hello_expected, [this] {
        if (process_.is_ordered_to_end()) return;
        process_.set_trouble(
            {.cause = LaneCause::no_hello,
             .told = "it has not said hello: is it a native worker (docs/worker-protocol.md)? "
                     "An HTTP server is started with --worker"});
    });
}

void NativeWorker::process_printed() {
    if (state_ != State::starting && state_ != State::loading) return;
    facts().last_line = process_.output().log().last_line();
    process_.progressed();
}

void NativeWorker::hear(const wire::Hello& frame) {
    state_ = State::loading;
    hello_alarm_.cancel();
    facts().sdk = frame.sdk;
    process_.set_trouble({});
    const WorkerConfig& worker = started_lane_.pool.worker;
    tell(wire::Welcome{.version = wire::version,
                       .lane = narrow(lane_.value),
                       .gpus = narrow(started_lane_.plan.gpus.size()),
                       .slots = worker.slots_configured,
                       .batch = worker.batch_configured,
                       .pool = started_lane_.pool.name});
}

void NativeWorker::hear(const wire::Loading& frame) {
    if (frame.phase == wire::LoadPhase::loading && imported_at_ == never) {
        imported_at_ = deps_.clock.now();
        facts().start.import = imported_at_ - process_.started_at();
    }
    facts().loading = {.permille = told_permille(frame.permille), .text = std::string(frame.text)};
    process_.progressed();
}

void NativeWorker::hear(const wire::Ready& frame) {
    state_ = State::up;
    WorkerFacts& own = facts();
    own.loading.reset();
    own.model_facts = frame.facts;
    own.start.load =
        deps_.clock.now() - (imported_at_ == never ? process_.started_at() : imported_at_);
    proof_.learn(frame);
    process_.set_trouble({});
    process_.came_up();
    started_lane_.kept->has_come_up = true;
    if (started_lane_.warm != nullptr) started_lane_.warm->learn();
    deps_.deliver(WorkerReady{.worker = worker_,
                              .slots = frame.slots,
                              .batch = frame.batch,
                              .has_example = frame.has_example});
}

// ── jobs ─────────────────────────────────────────────────────────────────────────────────────────

void NativeWorker::send(const SendJob& action) {
    ExchangePtr exchange =
        deps_.exchanges.begin_attempt(action.job, action.attempt, generation_, deps_.clock.now());
    if (state_ == State::over) return refuse_after_end(deps_.exchanges, std::move(exchange));
    attempts_.send(action, std::move(exchange));
}

template <AnswerFrame Frame>
void NativeWorker::hear(const Frame& frame) {
    if (proof_.is_of(frame.id)) return proof_.hear(frame);
    if constexpr (std::same_as<Frame, wire::Chunk> || std::same_as<Frame, wire::Done>) {
        const wire::Breach breach = attempts_.hear(frame);
        if (breach != wire::Breach::none) link_.break_off(breach);
    } else {
        attempts_.hear(frame);
    }
}

bool NativeWorker::heard(const wire::WorkerFrame& frame) {
    if (state_ == State::over) return false;
    deps_.clock.forget();  // an answer may come in the turn of the loop that sent its job
    const wire::Breach breach = conversation_.heard(frame);
    if (breach != wire::Breach::none) {
        link_.break_off(breach);
        return false;
    }
    std::visit([this](const auto& one) { hear(one); }, frame);
    return state_ != State::over;
}

// ── health ───────────────────────────────────────────────────────────────────────────────────────

void NativeWorker::probe(std::uint32_t number) {
    if (state_ != State::up) return;
    if (link_.is_short()) return deps_.deliver(ProbeEnded{worker_, number, ProbeVerdict::not_sent});
    probed_ = number;
    conversation_.pinged(std::uint64_t{number} + 1);
    tell(wire::Ping{std::uint64_t{number} + 1});
}

void NativeWorker::hear(const wire::Pong& frame) {
    const auto number = static_cast<std::uint32_t>(frame.id - 1);
    if (probed_ == number) probed_.reset();
    deps_.deliver(ProbeEnded{worker_, number});
}

/// The worker may have answered a probe or a proof, but we can't read it.
void NativeWorker::could_not_receive() {
    if (const auto number = std::exchange(probed_, std::nullopt))
        deps_.deliver(ProbeEnded{worker_, *number, ProbeVerdict::not_sent});
    proof_.excuse_shortage();
}

void NativeWorker::hear(const wire::Log& frame) {
    const bool is_bad = frame.level >= wire::LogLevel::warning;
    process_.output().remark(frame.text, is_bad ? LogStream::err : LogStream::out, worker_.value);
}

bool NativeWorker::ask_stacks(AttemptId attempt) {
    if (state_ != State::up && state_ != State::loading) return false;
    stacks_.attempts.push_back(attempt);
    if (stacks_.number != 0) return true;  // the answer to an earlier request will do
    stacks_.number = ++stacks_asked_;
    conversation_.asked_stacks(stacks_.number);
    tell(wire::AskStacks{stacks_.number});
    process_.after(stacks_patience, [this, number = stacks_.number] {
        if (state_ == State::over || stacks_.number != number) return;
        stacks_ = {};
        process_deps_.dump_stacks_by_tool(process_);
    });
    return true;
}

void NativeWorker::hear(const wire::Stacks& frame) {
    if (stacks_.number != frame.id) return;  // too late: py-spy was asked meanwhile
    attempts_.add_stacks(stacks_.attempts, frame.text);
    stacks_ = {};
    process_.output().remark(frame.text, LogStream::stacks, worker_.value);
}

// ── proofs ───────────────────────────────────────────────────────────────────────────────────────

void NativeWorker::prove(std::uint32_t number) {
    if (state_ == State::up) proof_.begin(number);
}

// ── the end ──────────────────────────────────────────────────────────────────────────────────────

void NativeWorker::link_broke(wire::Breach breach, std::uint8_t kind) {
    if (state_ == State::over) return;
    if (breach != wire::Breach::none)
        return misbehaved(
            fmt::format("it broke the protocol: {} (frame {:#04x})", sentence_of(breach), kind));
    process_.after(exit_delay, [this] {  // a closed link is usually the first sign of a death
        if (state_ != State::over) misbehaved("it closed its socket");
    });
}

void NativeWorker::misbehaved(const std::string& how) {
    hello_alarm_.cancel();
    process_.set_trouble({.cause = LaneCause::misbehaved, .told = how});
    process_.output().remark(how);
    // The engine may end its jobs before the process has exited.
    attempts_.blame({.cause = Cause::worker_ended, .told = how, .said = process_.last_words()});
    deps_.deliver(WorkerMisbehaved{worker_});
}

void NativeWorker::stop(Reason why) {
    process_.order(why);
    if (state_ == State::starting) return process_.terminate(why);  // it does not read frames yet
    tell(wire::Stop{});
}

/// Hears no more of the worker: the engine may send its jobs elsewhere at once, and what the worker
/// still says must not reach their clients.
void NativeWorker::kill(Reason why) {
    link_.close();
    process_.kill(why);
}

void NativeWorker::process_exited(const Trouble& end) {
    state_ = State::over;
    hello_alarm_.cancel();
    link_.close();
    attempts_.close(end);
    proof_.close();
}

/// Forgets the sources of the first generation if it never came up. Then the next start reads the
/// files again: somebody may have fixed a typo.
void NativeWorker::process_gone() {
    constexpr Generation first{1};
    if (started_lane_.kept->has_come_up || generation_ != first) return;
    deps_.background.run(
        [folder = started_lane_.kept->folder] {
            forget_sources(folder);
            return 0;
        },
        [](int) {});
}

void NativeWorker::tell(const wire::GateFrame& frame) {
    out_.clear();
    append_frame(out_, frame);
    link_.send(out_);
}

}  // namespace turnpike
