#include "supervisor/native_worker.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "http/write.h"
#include "os/spawn.h"
#include "supervisor/answer_fields.h"
#include "wire/encode.h"

namespace turnpike {

namespace {

constexpr Duration hello_expected = 10s;  // then people are told that there is none
constexpr Duration exit_delay = 250ms;    // how long news of an exit may take after the link ended
constexpr Duration stacks_patience = 2s;  // then somebody else looks
constexpr std::size_t proof_answer_max = wire::inline_max;

std::uint16_t narrow(std::size_t value) {
    return static_cast<std::uint16_t>(std::min<std::size_t>(value, UINT16_MAX));
}

std::optional<std::uint16_t> told_permille(std::uint16_t permille) {
    return permille == wire::permille_unknown ? std::nullopt : std::optional(permille);
}

/// ":FOLDER…", of the pool's `env` or of `up`; empty: neither says one.
std::string own_path(const WorkerConfig& worker, const Premises& premises) {
    std::string path = value_of(premises.environment, "PYTHONPATH");
    for (const auto& [name, value] : worker.env)
        if (name == "PYTHONPATH") path = value;
    return path.empty() ? "" : ':' + path;
}

}  // namespace

NativeWorker::NativeWorker(WorkerSurroundings& surroundings, Premises& premises,
                           const StartWorker& start, const StartedLane& lane)
    : around_(surroundings),
      premises_(premises),
      worker_(start.worker),
      lane_(start.lane),
      generation_(start.generation),
      lane_of_(lane),
      process_(surroundings, premises, start, lane, *this),
      hello_timer_(surroundings.loop),
      link_(std::make_shared<FrameLink>(surroundings.loop, static_cast<FrameLinkUser&>(*this))),
      rides_({.around = surroundings,
              .worker = worker_,
              .link = *link_,
              .conversation = conversation_,
              .stays = [this] { return shared_from_this(); }}) {}

// ── coming up ────────────────────────────────────────────────────────────────────────────────────

void NativeWorker::start() {
    process_.begin();
    LaneFacts& lane = facts();
    lane.sdk.clear();
    lane.model_facts.clear();
    WorkerProcess::Variables variables{{"TURNPIKE_SOCKET", std::to_string(link_descriptor)}};
    const WorkerConfig& worker = lane_of_.pool.worker;
    if (worker.model.kind == ModelChoice::Kind::python)
        variables.emplace_back("PYTHONPATH", premises_.sdk + own_path(worker, premises_));
    socket_ = process_.start(native_command(lane_of_.pool.worker, premises_.sdk),
                             Guarded::Link::socket, variables);
}

/// Nothing is heard of a worker before it is known to run.
void NativeWorker::process_started() {
    if (state_ == State::starting) link_->open(std::move(socket_));
    hello_timer_.expires_after(hello_expected);
    hello_timer_.async_wait([self = self()](boost::system::error_code error) {
        if (!error && self->state_ == State::starting)
            self->process_.note(
                "it has not said hello: is it a native worker (docs/worker-protocol.md)? "
                "An HTTP server is started with --worker");
    });
}

void NativeWorker::printed() {
    if (state_ != State::starting && state_ != State::loading) return;
    facts().last_line = process_.output().log().last_line();
    process_.progressed();
}

void NativeWorker::hear(const wire::Hello& frame) {
    state_ = State::loading;
    hello_timer_.cancel();
    facts().sdk = frame.sdk;
    process_.note("");
    const WorkerConfig& worker = lane_of_.pool.worker;
    tell(wire::Welcome{.version = wire::version,
                       .lane = narrow(lane_.value),
                       .gpus = narrow(lane_of_.plan.gpus.size()),
                       .slots = worker.slots_said,
                       .batch = worker.batch_said,
                       .pool = lane_of_.pool.name});
}

void NativeWorker::hear(const wire::Loading& frame) {
    if (frame.phase == wire::LoadPhase::loading && imported_at_ == never) {
        imported_at_ = around_.clock.now();
        facts().start.import = imported_at_ - process_.started_at();
    }
    facts().loading = {.permille = told_permille(frame.permille), .text = std::string(frame.text)};
    process_.progressed();
}

void NativeWorker::hear(const wire::Ready& frame) {
    state_ = State::up;
    LaneFacts& lane = facts();
    lane.loading.reset();
    lane.model_facts = frame.facts;
    lane.start.load =
        around_.clock.now() - (imported_at_ == never ? process_.started_at() : imported_at_);
    if (frame.has_example) example_ = {std::string(frame.example_type), std::string(frame.example)};
    process_.note("");
    process_.came_up();
    around_.deliver(WorkerReady{.worker = worker_,
                                .slots = frame.slots,
                                .batch = frame.batch,
                                .has_example = frame.has_example});
}

// ── jobs ─────────────────────────────────────────────────────────────────────────────────────────

void NativeWorker::send(const SendJob& action) {
    ExchangePtr exchange = around_.exchanges.find(action.job);
    CHECK(exchange != nullptr);
    exchange->generation = generation_;
    rides_.send(action, std::move(exchange));
}

template <OfJob Frame>
void NativeWorker::hear(const Frame& frame) {
    if (frame.id == proof_.id) return hear_of_proof(frame);
    if constexpr (std::same_as<Frame, wire::Chunk> || std::same_as<Frame, wire::Done>) {
        const wire::Breach breach = rides_.hear(frame);
        if (breach != wire::Breach::none) link_->break_off(breach);
    } else {
        rides_.hear(frame);
    }
}

bool NativeWorker::heard(const wire::WorkerFrame& frame) {
    if (state_ == State::over) return false;
    around_.clock.forget();  // an answer may come in the turn of the loop that sent its job
    const wire::Breach breach = conversation_.heard(frame);
    if (breach != wire::Breach::none) {
        link_->break_off(breach);
        return false;
    }
    const auto stays = self();
    std::visit([this](const auto& one) { hear(one); }, frame);
    return state_ != State::over;
}

// ── health ───────────────────────────────────────────────────────────────────────────────────────

void NativeWorker::probe(std::uint32_t number) {
    if (state_ != State::up) return;
    conversation_.pinged(std::uint64_t{number} + 1);
    tell(wire::Ping{std::uint64_t{number} + 1});
}

void NativeWorker::hear(const wire::Pong& frame) {
    around_.deliver(ProbeEnded{worker_, static_cast<std::uint32_t>(frame.id - 1)});
}

void NativeWorker::hear(const wire::Log& frame) {
    const bool is_bad = frame.level >= wire::LogLevel::warning;
    process_.output().remark(frame.text, is_bad ? LogStream::err : LogStream::out);
}

bool NativeWorker::ask_stacks(AttemptId attempt) {
    if (state_ != State::up && state_ != State::loading) return false;
    stacks_.attempts.push_back(attempt);
    if (stacks_.number != 0) return true;  // they come soon
    stacks_.number = ++stacks_asked_;
    conversation_.asked_stacks(stacks_.number);
    tell(wire::AskStacks{stacks_.number});
    process_.after(stacks_patience, [this, number = stacks_.number] {
        if (state_ == State::over || stacks_.number != number) return;
        stacks_ = {};
        premises_.look_from_outside(lane_);
    });
    return true;
}

void NativeWorker::hear(const wire::Stacks& frame) {
    if (stacks_.number != frame.id) return;  // somebody else looked meanwhile
    rides_.add_stacks(stacks_.attempts, frame.text);
    stacks_ = {};
    process_.output().remark(frame.text, LogStream::stacks);
}

// ── proofs ───────────────────────────────────────────────────────────────────────────────────────

void NativeWorker::prove(std::uint32_t number) {
    if (state_ != State::up) return;
    const PoolConfig& pool = lane_of_.pool;
    const bool is_configured = has_own_proof();
    CHECK(is_configured || example_);
    const ProofConfig& rule = pool.proof;
    const std::string& type = is_configured ? rule.content_type : example_->content_type;
    const std::string& body = is_configured ? rule.body : example_->body;
    proof_ = {.id = std::uint64_t{++proofs_} << NativeRides::place_bits | NativeRides::place_mask,
              .number = number,
              .began = around_.clock.now()};
    std::string fields;
    if (!body.empty()) http::append_field(fields, "Content-Type", type);
    conversation_.sent(proof_.id);
    tell(wire::Job{.id = proof_.id,
                   .purpose = wire::Purpose::proof,
                   .name = "proof",
                   .method = is_configured ? std::string_view(rule.method) : "POST",
                   .target = is_configured ? std::string_view(rule.path) : "/predict",
                   .fields = fields,
                   .body = {.bytes = body}});
}

bool NativeWorker::has_own_proof() const { return lane_of_.pool.settings.proof != ProofKind::none; }

std::string_view NativeWorker::name_of_proof() const {
    return has_own_proof() ? "the proof" : "the model's example";
}

void NativeWorker::hear_of_proof(const wire::Begin& frame) { proof_.status = frame.status; }

void NativeWorker::hear_of_proof(const wire::Chunk& frame) {
    if (proof_.answer.size() <= proof_answer_max) proof_.answer.append(frame.bytes);
}

void NativeWorker::hear_of_proof(const wire::Done& frame) {
    if (frame.body.is_in_descriptor) {
        UniqueFd file = link_->take_descriptor();
        const wire::Breach breach = breach_of(file, frame.body.in_descriptor);
        close_elsewhere(std::move(file));
        if (breach != wire::Breach::none) return link_->break_off(breach);
        proof_.answer.resize(proof_answer_max + 1);  // whatever it is, it is too much
    }
    if (frame.status != 0) proof_.status = frame.status;
    proof_.answer.append(frame.body.bytes);
    proof_answered();
}

void NativeWorker::hear_of_proof(const wire::Failed& frame) {
    process_.note(fmt::format("{} failed: {}", name_of_proof(), words_of(frame)));
    end_proof(ProofVerdict::failed);
}

void NativeWorker::proof_answered() {
    const PoolConfig& pool = lane_of_.pool;
    const bool is_right =
        has_own_proof() ? proof_.status == pool.proof.status : proof_.status < 400;
    if (!is_right) {
        process_.note(
            fmt::format("{} was answered with status {}", name_of_proof(), proof_.status));
        return end_proof(ProofVerdict::failed);
    }
    if (!has_own_proof()) return end_proof(ProofVerdict::passed);
    if (proof_.answer.size() > proof_answer_max) {
        process_.note("the answer to the proof is larger than 1 MiB");
        return end_proof(ProofVerdict::failed);
    }
    around_.background.run(
        [&pool, groups = lane_of_.groups, answer = std::move(proof_.answer)] {
            return judge_answer(pool, *groups, answer);
        },
        [self = self(), id = proof_.id](const Judgement& judgement) {
            if (self->state_ != State::up || self->proof_.id != id) return;
            if (judgement.verdict == ProofVerdict::failed)
                self->process_.note("wrong answer to the proof: " + judgement.difference);
            self->end_proof(judgement.verdict, judgement.group);
        });
}

void NativeWorker::end_proof(ProofVerdict verdict, std::uint32_t group) {
    const Proof proof = std::exchange(proof_, {});
    std::optional<Duration>& first = facts().start.proof;
    if (!first) first = around_.clock.now() - proof.began;
    around_.deliver(ProofEnded{worker_, proof.number, verdict, group});
}

// ── the end ──────────────────────────────────────────────────────────────────────────────────────

void NativeWorker::link_broke(wire::Breach breach, std::uint8_t kind) {
    if (state_ == State::over) return;
    if (breach != wire::Breach::none)
        return misbehaved(
            fmt::format("it broke the protocol: {} (frame {:#04x})", sentence_of(breach), kind));
    process_.after(exit_delay, [this] {  // mostly it is the first sign of a death
        if (state_ != State::over) misbehaved("it closed its socket");
    });
}

void NativeWorker::misbehaved(const std::string& how) {
    process_.note(how);
    process_.output().remark(how);
    around_.deliver(WorkerMisbehaved{worker_});
}

void NativeWorker::stop(Reason why) {
    process_.order(why);
    if (state_ == State::starting) return process_.terminate(why);  // it knows no frames yet
    tell(wire::Stop{});
}

void NativeWorker::process_ended(const Farewell& farewell) {
    state_ = State::over;
    hello_timer_.cancel();
    link_->close();
    rides_.close(farewell);
}

void NativeWorker::tell(const wire::GateFrame& frame) {
    out_.clear();
    append_frame(out_, frame);
    link_->send(out_);
}

}  // namespace turnpike
