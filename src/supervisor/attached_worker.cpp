#include "supervisor/attached_worker.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "http/write.h"

namespace turnpike {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr Duration knock_every = 250ms;  // until the health path answers
constexpr Duration link_idle_max = 1s;   // then it is closed
constexpr Duration idle_check_every = 500ms;

struct Judgement {
    ProofVerdict verdict = ProofVerdict::passed;
    std::uint32_t group = 0;
    std::string difference;
};

bool is_alive(const Fetch::Result& result) {
    return result.has_value() && result->status >= 200 && result->status < 500;
}

/// `request`: "GET /health"
std::string trouble_of(const Fetch::Result& result, const std::string& request) {
    if (result) return fmt::format("{} answered {}", request, result->status);
    switch (result.error()) {
        case FetchFailure::refused: return "the connection is refused: nothing listens there";
        case FetchFailure::broke: return fmt::format("{} got no valid HTTP answer", request);
        case FetchFailure::late: return fmt::format("{} got no answer in time", request);
        case FetchFailure::too_large: return fmt::format("{} answered too much", request);
    }
    return "";
}

}  // namespace

AttachedWorker::AttachedWorker(WorkerSurroundings& surroundings, const StartWorker& start,
                               const PoolConfig& pool, const WorkerUrl& url,
                               std::shared_ptr<AnswerGroups> groups)
    : around_(surroundings),
      worker_(start.worker),
      lane_(start.lane),
      generation_(start.generation),
      pool_(pool),
      url_(url),
      groups_(std::move(groups)),
      resolver_(surroundings.loop),
      knock_timer_(surroundings.loop),
      idle_timer_(surroundings.loop),
      probe_(std::make_shared<Fetch>(surroundings.loop, destination_, surroundings.store,
                                     surroundings.clock)),
      proof_(std::make_shared<Fetch>(surroundings.loop, destination_, surroundings.store,
                                     surroundings.clock)),
      host_{.worker = worker_,
            .store = surroundings.store,
            .clock = surroundings.clock,
            .deliver = surroundings.deliver,
            .ended = [this](Ride& ride) { ride_ended(ride); }} {}

// ── coming up ────────────────────────────────────────────────────────────────────────────────────

void AttachedWorker::start() {
    around_.deliver(WorkerStarted{worker_});
    resolve();
}

void AttachedWorker::resolve() {
    resolver_.async_resolve(url_.host, std::to_string(url_.port),
                            [self = shared_from_this()](error_code error, const auto& found) {
                                if (self->state_ != State::waiting) return;
                                if (error) {
                                    self->around_.note(
                                        self->lane_, fmt::format("the name {} is not known: {}",
                                                                 self->url_.host, error.message()));
                                    return self->knock_later();
                                }
                                self->destination_.endpoints.clear();
                                for (const auto& entry : found)
                                    self->destination_.endpoints.push_back(entry.endpoint());
                                self->knock();
                            });
}

void AttachedWorker::knock() {
    write_probe_head(probe_->head());
    probe_->start(http::Method::get, pool_.health_timeout,
                  [self = shared_from_this()](const Fetch::Result& result) {
                      if (self->state_ == State::waiting) self->knocked(result);
                  });
}

void AttachedWorker::knocked(const Fetch::Result& result) {
    if (!is_alive(result)) {
        around_.note(lane_, trouble_of(result, "GET " + pool_.health_path));
        return knock_later();
    }
    state_ = State::up;
    around_.note(lane_, "");
    around_.deliver(WorkerReady{worker_});
}

void AttachedWorker::knock_later() {
    knock_timer_.expires_after(knock_every);
    knock_timer_.async_wait([self = shared_from_this()](error_code error) {
        if (error || self->state_ != State::waiting) return;
        self->resolve();  // anew: it may have moved
    });
}

// ── jobs ─────────────────────────────────────────────────────────────────────────────────────────

void AttachedWorker::send(const SendJob& action) {
    ExchangePtr exchange = around_.exchanges.find(action.job);
    CHECK(exchange != nullptr);
    exchange->generation = generation_;
    free_ride().start(std::move(exchange), action.attempt, action.number, url_.prefix);
}

void AttachedWorker::cancel(AttemptId attempt) {
    const auto ride = std::ranges::find_if(
        rides_, [&](const auto& candidate) { return candidate->attempt() == attempt; });
    if (ride == rides_.end()) return;
    around_.exchanges.drop((*ride)->stop());
    free_rides_.push_back(ride->get());
    around_.deliver(AttemptEnded{worker_, attempt, Verdict::cancelled});
}

Ride& AttachedWorker::free_ride() {
    if (free_rides_.empty()) {
        auto link =
            std::make_shared<Link>(around_.loop, destination_, around_.store, around_.clock);
        rides_.push_back(std::make_unique<Ride>(host_, std::move(link)));
        return *rides_.back();
    }
    Ride& ride = *free_rides_.back();
    free_rides_.pop_back();
    return ride;
}

void AttachedWorker::ride_ended(Ride& ride) {
    around_.exchanges.drop(ride.take_exchange());
    free_rides_.push_back(&ride);
    if (!ride.link().is_closed()) watch_idle_links();
}

void AttachedWorker::watch_idle_links() {
    if (std::exchange(idle_timer_runs_, true)) return;
    idle_timer_.expires_after(idle_check_every);
    idle_timer_.async_wait([self = shared_from_this()](error_code error) {
        self->idle_timer_runs_ = false;
        if (!error && self->state_ == State::up) self->close_idle_links();
    });
}

void AttachedWorker::close_idle_links() {
    const Instant now = around_.clock.now();
    bool is_any_idle = false;
    for (Ride* ride : free_rides_) {
        if (!ride->link().is_idle()) continue;
        if (now - ride->idle_since() >= link_idle_max)
            ride->link().close();
        else
            is_any_idle = true;
    }
    if (is_any_idle || free_rides_.size() < rides_.size()) watch_idle_links();
}

// ── health ───────────────────────────────────────────────────────────────────────────────────────

void AttachedWorker::write_probe_head(std::string& head) const {
    head.clear();
    http::append_request_line(head, http::Method::get, url_.prefix + pool_.health_path);
    http::append_field(head, "Host", text_of(Address{url_.host, url_.port}));
    http::append_field(head, "User-Agent", "turnpike-probe");
    http::append_field(head, "Connection", "close");
    head.append("\r\n");
}

void AttachedWorker::probe(std::uint32_t number) {
    if (state_ != State::up) return;
    probe_number_ = number;
    if (probe_->is_under_way()) return;  // a late answer to the last one answers this one, too
    write_probe_head(probe_->head());
    probe_->start(http::Method::get, pool_.health_timeout,
                  [self = shared_from_this()](const Fetch::Result& result) {
                      if (self->state_ == State::up) self->probed(result);
                  });
}

void AttachedWorker::probed(const Fetch::Result& result) {
    ProbeVerdict verdict = ProbeVerdict::answered;
    if (!is_alive(result)) {
        around_.note(lane_, trouble_of(result, "GET " + pool_.health_path));
        const bool is_refused = !result && result.error() == FetchFailure::refused;
        verdict = is_refused ? ProbeVerdict::refused : ProbeVerdict::silent;
    }
    around_.deliver(ProbeEnded{worker_, probe_number_, verdict});
}

// ── proofs ───────────────────────────────────────────────────────────────────────────────────────

void AttachedWorker::prove(std::uint32_t number) {
    if (state_ != State::up) return;
    const ProofConfig& proof = pool_.proof;
    const http::Method method = http::method_named(proof.method).value_or(http::Method::post);
    proof_->stop();
    std::string& head = proof_->head();
    head.clear();
    http::append_request_line(head, method, url_.prefix + proof.path);
    http::append_field(head, "Host", text_of(Address{url_.host, url_.port}));
    http::append_field(head, "User-Agent", "turnpike-proof");
    if (!proof.body.empty()) {
        http::append_field(head, "Content-Type", proof.content_type);
        http::append_field(head, "Content-Length", std::uint64_t{proof.body.size()});
    }
    http::append_field(head, "Connection", "close");
    head.append("\r\n");
    proof_->body().clear();
    proof_->body().append(around_.store, proof.body, [](int) {});  // the config keeps it short
    proof_->start(method, pool_.settings.proof_timeout,
                  [self = shared_from_this(), number](Fetch::Result result) {
                      if (self->state_ == State::up)
                          self->proof_answered(number, std::move(result));
                  });
}

void AttachedWorker::proof_answered(std::uint32_t number, Fetch::Result result) {
    if (!result) {
        if (result.error() == FetchFailure::late) return;  // the engine's clock decides
        around_.note(lane_, trouble_of(result, pool_.proof.method + " " + pool_.proof.path));
        return vanish();
    }
    if (result->status != pool_.proof.status) {
        around_.note(lane_, fmt::format("the proof was answered with status {}, not {}",
                                        result->status, pool_.proof.status));
        return around_.deliver(ProofEnded{worker_, number, ProofVerdict::failed});
    }
    const bool agrees = pool_.settings.proof == ProofKind::agree;
    around_.background.run(
        [rule = &pool_.proof, groups = groups_, agrees, answer = std::move(result->body)] {
            if (agrees)
                return Judgement{ProofVerdict::grouped, groups->group_of(*rule, answer), {}};
            if (is_same_answer(*rule, rule->expected, answer))
                return Judgement{ProofVerdict::passed, 0, {}};
            return Judgement{ProofVerdict::failed, 0, difference(*rule, rule->expected, answer)};
        },
        [self = shared_from_this(), number](const Judgement& judgement) {
            if (self->state_ != State::up) return;
            if (judgement.verdict == ProofVerdict::failed)
                self->around_.note(self->lane_,
                                   "wrong answer to the proof: " + judgement.difference);
            self->around_.deliver(
                ProofEnded{self->worker_, number, judgement.verdict, judgement.group});
        });
}

// ── the end ──────────────────────────────────────────────────────────────────────────────────────

/// It is not there any more, and no probe needs to tell.
void AttachedWorker::vanish() { around_.deliver(WorkerExited{worker_}); }

void AttachedWorker::end() {
    state_ = State::over;
    probe_->stop();
    proof_->stop();
    resolver_.cancel();
    knock_timer_.cancel();
    idle_timer_.cancel();
    for (const auto& ride : rides_)
        if (ExchangePtr exchange = ride->stop()) around_.exchanges.drop(std::move(exchange));
    around_.deliver(WorkerExited{worker_});
    around_.deliver(WorkerGone{worker_});
}

}  // namespace turnpike
