#include "supervisor/http/http_worker.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "http/write.h"
#include "os/shortage.h"

namespace turnpike {

namespace {

constexpr Duration poll_every = 250ms;   // while the worker comes up
constexpr Duration proof_again = 250ms;  // after a proof for which we were short of something
constexpr Duration link_idle_max = 1s;   // an idle link is closed after this time
constexpr Duration idle_check_every = 500ms;

bool is_alive(const Fetch::Result& result) {
    return result.has_value() && result->status >= 200 && result->status < 500;
}

/// Returns what we lacked, so that the worker was not asked.
Shortage shortage_of(const Fetch::Result& result) {
    if (result) return Shortage::none;
    switch (result.error()) {
        case FetchFailure::shortage: return Shortage::descriptors;
        case FetchFailure::no_port: return Shortage::ports;
        case FetchFailure::no_disk: return Shortage::disk;
        case FetchFailure::refused:
        case FetchFailure::stranger:
        case FetchFailure::broke:
        case FetchFailure::late:
        case FetchFailure::too_large: break;
    }
    return Shortage::none;
}
bool is_short(const Fetch::Result& result) { return shortage_of(result) != Shortage::none; }

/// Returns what went wrong. `request` is the request in words: "GET /health".
LaneTrouble trouble_of(const Fetch::Result& result, const std::string& request) {
    const auto with = [](LaneCause cause, std::string told) {
        return LaneTrouble{.cause = cause, .told = std::move(told)};
    };
    using enum LaneCause;
    if (result) return with(bad_answer, fmt::format("{} answered {}", request, result->status));
    switch (result.error()) {
        case FetchFailure::stranger:
            return with(port_taken, "another program listens at its address");
        case FetchFailure::refused:
            return with(refused, "the connection is refused: nothing listens there");
        case FetchFailure::broke:
            return with(bad_answer, fmt::format("{} got no valid HTTP answer", request));
        case FetchFailure::late:
            return with(no_answer, fmt::format("{} got no answer in time", request));
        case FetchFailure::too_large:
            return with(bad_answer, fmt::format("{} answered with more than 1 MiB", request));
        case FetchFailure::shortage:
        case FetchFailure::no_port:
            return with(shortage, "it can't be asked: " + text_of(shortage_of(result)));
        case FetchFailure::no_disk:
            return with(shortage,
                        "it can't be asked: the disk of gate.spool does not keep the request's "
                        "body: check that it works and has room");
    }
    return {};
}

}  // namespace

HttpWorker::HttpWorker(WorkerDeps& deps, const StartWorker& start, Setup setup)
    : deps_(deps),
      worker_(start.worker),
      lane_(start.lane),
      generation_(start.generation),
      setup_(std::move(setup)),
      link_deps_{.dialer = setup_.dialer != nullptr ? *setup_.dialer : deps.dialer,
                 .alarms = deps.alarms,
                 .store = deps.store},
      poll_alarm_(deps.alarms),
      proof_alarm_(deps.alarms),
      idle_alarm_(deps.alarms),
      probe_(link_deps_, destination_),
      proof_(link_deps_, destination_),
      host_{.worker = worker_,
            .store = deps.store,
            .clock = deps.clock,
            .deliver = deps.deliver,
            .ended = [this](HttpAttempt& attempt) { attempt_ended(attempt); },
            .broke = [this](HttpAttempt& attempt) { attempt_broke(attempt); }} {
    const PoolConfig& pool = setup_.pool;
    if (!pool.keep_alive || !pool.settings.may_retry) destination_.reuse = Reuse::forbidden;
}

// ── coming up ────────────────────────────────────────────────────────────────────────────────────

void HttpWorker::poll_health() {
    write_probe_head(probe_.head());
    probe_.start(http::Method::get, setup_.pool.settings.probe_timeout,
                 [this](const Fetch::Result& result) { health_polled(result); });
}

void HttpWorker::health_polled(const Fetch::Result& result) {
    if (!is_alive(result)) {
        set_trouble_of(result, "GET " + setup_.pool.health_path);
        if (is_short(result)) deps_.deliver(LoadProgressed{worker_});  // it is not silent: we are
        return poll_health_later();
    }
    state_ = State::up;
    set_trouble({});
    came_up();
    deps_.deliver(WorkerReady{worker_});
}

/// A stranger's name is known already: who looked for it has set the trouble.
void HttpWorker::set_trouble_of(const Fetch::Result& result, const std::string& request) {
    const bool is_stranger = !result && result.error() == FetchFailure::stranger;
    if (is_stranger && facts().trouble.cause == LaneCause::port_taken) return;
    set_trouble(trouble_of(result, request));
}

/// Must be called when the worker was reached: what we were short of is there again.
void HttpWorker::forget_shortage() {
    if (facts().trouble.cause == LaneCause::shortage) set_trouble({});
}

void HttpWorker::poll_health_later() {
    poll_alarm_.set(poll_every, [this] { come_up(); });
}

// ── jobs ─────────────────────────────────────────────────────────────────────────────────────────

void HttpWorker::send(const SendJob& action) {
    ExchangePtr exchange =
        deps_.exchanges.begin_attempt(action.job, action.attempt, generation_, deps_.clock.now());
    if (state_ == State::over) return refuse_after_end(deps_.exchanges, std::move(exchange));
    first_job_.sent(*exchange, deps_.clock);
    free_attempt().start(std::move(exchange), action.attempt, action.number, setup_.prefix);
}

/// Closes the connection. That does not stop the worker, so the attempt ends as `closed`. But if
/// nothing of the request was sent yet, the worker has nothing to do, and the attempt ends as
/// `cancelled`.
void HttpWorker::cancel(AttemptId id) {
    const auto found = std::ranges::find_if(
        attempts_, [&](const auto& candidate) { return candidate->id() == id; });
    if (found == attempts_.end()) return;
    HttpAttempt& attempt = **found;
    if (attempt.is_ending()) return;  // the engine will learn how it ended, or that the worker died
    const Verdict verdict = attempt.is_sent() ? Verdict::closed : Verdict::cancelled;
    ExchangePtr exchange = attempt.stop();
    std::ignore = first_job_.ended(*exchange, verdict, deps_.clock);
    deps_.exchanges.drop(std::move(exchange));
    free_attempts_.push_back(&attempt);
    deps_.deliver(AttemptEnded{worker_, id, verdict});
}

HttpAttempt& HttpWorker::free_attempt() {
    if (free_attempts_.empty()) {
        attempts_.push_back(std::make_unique<HttpAttempt>(host_, link_deps_, destination_));
        return *attempts_.back();
    }
    HttpAttempt& attempt = *free_attempts_.back();
    free_attempts_.pop_back();
    return attempt;
}

void HttpWorker::attempt_broke(HttpAttempt& attempt) {
    link_broke([&attempt, id = attempt.id()] {
        if (attempt.id() == id) attempt.conclude();
    });
}

void HttpWorker::attempt_ended(HttpAttempt& attempt) {
    if (const auto took = first_job_.ended(*attempt.exchange(), attempt.verdict(), deps_.clock))
        first_job_took(*took);
    if (attempt.verdict() == Verdict::broken)
        broken_.push_back(attempt.take_exchange());
    else
        deps_.exchanges.drop(attempt.take_exchange());
    free_attempts_.push_back(&attempt);
    if (!attempt.link().is_closed()) watch_idle_links();
    if (destination_.reuse == Reuse::forfeited)
        lane_facts().remark =
            "its worker sends bytes that nobody asked for, such as a second answer, "
            "so each job now gets a connection of its own";
}

void HttpWorker::watch_idle_links() {
    if (std::exchange(is_idle_alarm_set_, true)) return;
    idle_alarm_.set(idle_check_every, [this] {
        is_idle_alarm_set_ = false;
        close_idle_links();
    });
}

void HttpWorker::close_idle_links() {
    const Instant now = deps_.clock.now();
    bool is_any_idle = false;
    for (HttpAttempt* attempt : free_attempts_) {
        if (!attempt->link().is_idle()) continue;
        if (now - attempt->idle_since() >= link_idle_max)
            attempt->link().close();
        else
            is_any_idle = true;
    }
    if (is_any_idle || free_attempts_.size() < attempts_.size()) watch_idle_links();
}

// ── health ───────────────────────────────────────────────────────────────────────────────────────

void HttpWorker::write_probe_head(std::string& head) const {
    head.clear();
    http::append_request_line(head, http::Method::get, setup_.prefix + setup_.pool.health_path);
    http::append_field(head, "Host", setup_.host);
    http::append_field(head, "User-Agent", "turnpike-probe");
    http::append_field(head, "Connection", "close");
    head.append("\r\n");
}

/// Sends a health check of its own for each probe, and forgets the previous one. An answer must
/// prove that the worker lived after the engine asked for the probe.
void HttpWorker::probe(std::uint32_t number) {
    if (state_ != State::up) return;
    probe_number_ = number;
    probe_.stop();
    write_probe_head(probe_.head());
    probe_.start(http::Method::get, setup_.pool.settings.probe_timeout,
                 [this](const Fetch::Result& result) { probed(result); });
}

/// Reports the end of the latest probe. Earlier ones were stopped and are not reported.
void HttpWorker::probed(const Fetch::Result& result) {
    ProbeVerdict verdict = ProbeVerdict::answered;
    if (is_alive(result)) {
        forget_broken();
        forget_shortage();
    } else {
        set_trouble_of(result, "GET " + setup_.pool.health_path);
        const bool is_refused = !result && (result.error() == FetchFailure::refused ||
                                            result.error() == FetchFailure::stranger);
        verdict = is_short(result) ? ProbeVerdict::not_sent
                  : is_refused     ? ProbeVerdict::refused
                                   : ProbeVerdict::silent;
    }
    deps_.deliver(ProbeEnded{worker_, probe_number_, verdict});
}

// ── proofs ───────────────────────────────────────────────────────────────────────────────────────

void HttpWorker::prove(std::uint32_t number) {
    if (state_ != State::up) return;
    const ProofConfig& proof = setup_.pool.proof;
    const http::Method method = http::method_named(proof.method).value_or(http::Method::post);
    proof_.stop();
    proof_alarm_.cancel();
    std::string& head = proof_.head();
    head.clear();
    http::append_request_line(head, method, setup_.prefix + proof.path);
    http::append_field(head, "Host", setup_.host);
    http::append_field(head, "User-Agent", "turnpike-proof");
    if (!proof.body.empty()) {
        http::append_field(head, "Content-Type", proof.content_type);
        http::append_field(head, "Content-Length", std::uint64_t{proof.body.size()});
    }
    http::append_field(head, "Connection", "close");
    head.append("\r\n");
    proof_began_ = deps_.clock.now();
    proof_.body().clear();
    proof_.body().append(deps_.store, proof.body, [](int) {});  // the config limits its size
    proof_.start(method, setup_.pool.settings.proof_timeout, [this, number](Fetch::Result result) {
        proof_answered(number, std::move(result));
    });
}

void HttpWorker::proof_answered(std::uint32_t number, Fetch::Result result) {
    if (!result) {
        if (result.error() == FetchFailure::late) return;  // the engine has its own timeout
        set_trouble_of(result, setup_.pool.proof.method + " " + setup_.pool.proof.path);
        return is_short(result) ? prove_again(number) : proof_broke(number);
    }
    forget_shortage();
    LaneProof proof = proof_of(*result);
    if (result->status != setup_.pool.proof.status)
        return end_proof(
            number, std::move(proof),
            failed_proof(ProofBy::pool, fmt::format("was answered with status {}, not {}",
                                                    result->status, setup_.pool.proof.status)));
    deps_.background.run(
        [pool = &setup_.pool, common = setup_.common, lane = lane_.value,
         answer = std::move(result->body)] {
            return judge_answer(*pool, common->groups, lane, answer);
        },
        lifeline_.bind(
            [this, number, proof = std::move(proof)](const Judgement& judgement) mutable {
                if (state_ == State::up) end_proof(number, std::move(proof), judgement);
            }));
}

/// The engine gives the worker more time each time, because we were short and not the worker slow.
void HttpWorker::prove_again(std::uint32_t number) {
    deps_.deliver(ProofEnded{worker_, number, ProofVerdict::not_sent});
    proof_alarm_.set(proof_again, [this, number] { prove(number); });
}

LaneProof HttpWorker::proof_of(const Fetched& fetched) const {
    const ProofConfig& rule = setup_.pool.proof;
    LaneProof proof;
    proof.request = {.method = rule.method,
                     .path = rule.path,
                     .body = proof_body(rule.body.empty() ? "" : rule.content_type, rule.body)};
    proof.answer = {.status = fetched.status,
                    .body = proof_body(fetched.content_type, fetched.body)};
    proof.generation = generation_;
    return proof;
}

void HttpWorker::end_proof(std::uint32_t number, LaneProof proof, const Judgement& judgement) {
    proof.ended = deps_.clock.now();
    proof.took = proof.ended - proof_began_;
    std::optional<Duration>& first = facts().start.proof;
    if (!first) first = proof.took;
    show_proof(deps_.lanes, {.lane = lane_, .worker = worker_, .name = "the proof"},
               std::move(proof), judgement);
    deps_.deliver(ProofEnded{worker_, number, judgement.verdict, judgement.group});
}

// ── the end ──────────────────────────────────────────────────────────────────────────────────────

void HttpWorker::forget_broken() {
    for (ExchangePtr& exchange : broken_) deps_.exchanges.drop(std::move(exchange));
    broken_.clear();
}

std::vector<ExchangePtr> HttpWorker::broken_or_aboard() const {
    std::vector<ExchangePtr> exchanges = broken_;
    for (const auto& attempt : attempts_)
        if (attempt->exchange() != nullptr) exchanges.push_back(attempt->exchange());
    return exchanges;
}

void HttpWorker::close(const Trouble& end) {
    state_ = State::over;
    probe_.stop();
    proof_.stop();
    poll_alarm_.cancel();
    proof_alarm_.cancel();
    idle_alarm_.cancel();
    forget_broken();
    for (const auto& attempt : attempts_) {
        const bool is_current = attempt->is_current();
        ExchangePtr exchange = attempt->stop();
        if (exchange == nullptr) continue;
        if (is_current && !end.is_none()) exchange->attempt.trouble = end;
        deps_.exchanges.drop(std::move(exchange));
    }
}

void HttpWorker::hang_up() {
    for (const auto& attempt : attempts_) attempt->hang_up();
}

}  // namespace turnpike
