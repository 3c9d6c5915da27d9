// A connection takes a request: its head, then its body, which it takes out of its framing and puts
// into the exchange. Once the body is complete, the job can be queued.
#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "core/settings.h"
#include "gate/connection.h"
#include "http/fault.h"
#include "http/fields.h"
#include "http/write.h"
#include "os/shortage.h"

namespace turnpike {

namespace {

constexpr std::string_view known_methods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// How much a body must grow before we tell the engine again.
constexpr std::uint64_t growth_step = mebibyte.count;

bool is_preflight(const http::RequestHead& head) {
    return head.method == http::Method::options &&
           http::find(head.fields, "access-control-request-method") != nullptr;
}

/// Returns what the engine lets the client have. Without a key, only its level is bounded.
ClientLimits limits_of(const ApiKey* key) {
    if (key == nullptr) return {};
    return {.priority_max = key->limits.priority_max,
            .jobs_max = key->limits.jobs_max.value_or(0),
            .bytes_max = key->limits.bytes_max.value_or(Bytes{})};
}

/// Returns the objection to a body that could not be stored. A full disk is one reason of several.
Objection objection_to_storing(int error) {
    const Shortage shortage = shortage_behind(error);
    const bool is_of_disk = shortage == Shortage::disk || shortage == Shortage::none;
    return {is_of_disk ? Problem::no_room_on_disk : Problem::shortage, text_of_error(error)};
}

std::string_view value_of(const http::RequestHead& head, std::string_view name) {
    const http::Field* field = http::find(head.fields, name);
    return field == nullptr ? std::string_view() : field->value;
}

}  // namespace

// ── the head ─────────────────────────────────────────────────────────────────────────────────────

void Connection::take_head() {
    if (!reader_.has_input()) {
        if (wait != Wait::request) wait_for(Wait::request);
        return;
    }
    switch (reader_.next()) {
        case http::Found::head: break;
        case http::Found::broken:
            reply_options_ = {.keeps_alive = false};
            return answer_problem(objection_to(reader_.fault()), {}, known_methods);
        case http::Found::more:
        case http::Found::data:
        case http::Found::whole:
            if (wait != Wait::head) wait_for(Wait::head);
            return;
    }
    wait_for(Wait::nothing);
    take_request(reader_.head());
}

void Connection::take_request(const http::RequestHead& head) {
    reply_options_ = {.keeps_alive = head.keep_alive && deps_.stage == GateStage::open,
                      .is_head = head.method == http::Method::head,
                      .is_http_1_0 = head.version == http::Version::http_1_0};
    reply_options_.allowed_origin = deps_.access.allowed_origin(head);
    if (is_preflight(head) && !reply_options_.allowed_origin.empty()) return answer_preflight(head);
    if (is_own(head.target)) return take_own_request(head);
    const auto caller = deps_.access.check(head, peer_.entrance, Rule::job, deps_.keys());
    if (!caller) return answer_problem({caller.error(), {}});
    take_job(head, *caller);
}

/// A browser sends a preflight without credentials, so only the Origin and the Host are checked.
void Connection::answer_preflight(const http::RequestHead& head) {
    const auto caller = deps_.access.check(head, peer_.entrance, Rule::anybody, deps_.keys());
    if (!caller) return answer_problem({caller.error(), {}});
    prepare_own_answer();
    writer_.begin_preflight(value_of(head, "access-control-request-method"),
                            value_of(head, "access-control-request-headers"), reply_options_);
    begin_writing();
}

void Connection::take_own_request(const http::RequestHead& head) {
    const FoundRoute found = find_route(head.method, head.target);
    const Rule rule = found.route == nullptr ? Rule::member : found.route->rule;
    const auto caller = deps_.access.check(head, peer_.entrance, rule, deps_.keys());
    if (!caller) return answer_problem({caller.error(), {}});
    if (found.route == nullptr) return answer_problem({found.problem, {}}, {}, found.allow);
    const auto answer = found.route->answer(
        {.deps = deps_.own_routes, .caller = *caller, .name = found.name, .query = found.query});
    if (!answer) return answer_problem(answer.error());
    answer_own({.status = answer->status,
                .content_type = answer->content_type,
                .body = answer->body,
                .extra_fields = {}});
}

void Connection::take_job(const http::RequestHead& head, const Caller& caller) {
    const auto arrival = deps_.router.route(head);
    if (!arrival) return answer_problem(arrival.error());
    job_.arrive(*arrival, head, caller.key);
    if (const Duration left = time_until_allowed(caller); left > Duration::zero())
        return turn_away({Problem::rate_exceeded, {}}, EndReason::rate_exceeded, left);
    if (head.length > deps_.config.gate.body_max.count)
        return turn_away(
            {Problem::body_too_large, "Content-Length is " + std::to_string(head.length)},
            EndReason::body_failed);
    counted_ = std::min(head.length, announced_max.count);
    state_ = State::deciding;
    deps_.deliver(JobArrived{.ticket = ticket_,
                             .pool = arrival->pool,
                             .client = job_.client(),
                             .limits = limits_of(caller.key),
                             .declared = Bytes{head.length},
                             .priority = arrival->priority,
                             .timeout = arrival->timeout,
                             .lane_wanted = arrival->lane_wanted,
                             .is_aside = arrival->is_aside});
}

/// Returns how long the caller's key must wait until its rate allows one more job. Zero counts the
/// job.
Duration Connection::time_until_allowed(const Caller& caller) {
    if (caller.key == nullptr) return Duration::zero();
    return deps_.key_rates.take(*caller.key, deps_.clock.now());
}

void Connection::turn_away(const Objection& objection, EndReason reason, Duration retry_after) {
    job_.turn_away(objection, reason);
    answer_problem(objection, retry_after);
}

void Connection::admitted(JobId job) {
    const http::RequestHead& head = reader_.head();
    job_.admit(job, head, *this);
    deps_.live_jobs.add(job, *this);
    model_.reset();  // of a body that failed
    if (job_.arrival().reads_model) model_.emplace();
    state_ = State::body;
    rate_checked_ = 0;
    const bool has_body = head.framing == http::Framing::chunked || head.length > 0;
    if (head.expects_continue && has_body && !reader_.has_input()) {
        writer_.say_continue();
        std::ignore = flush();  // what does not fit now is sent with the answer
        if (client_ == Client::left) return;
    }
    go_on();
}

void Connection::refused(const RefuseJob& refusal) {
    const Objection objection = deps_.objections.of(job_.pool(), refusal.reason);
    job_.refuse(objection, refusal.reason);
    answer_problem(objection, refusal.retry_after);
}

// ── the body ─────────────────────────────────────────────────────────────────────────────────────

void Connection::take_body() {
    while (state_ == State::body) {
        switch (reader_.next()) {
            case http::Found::data: take_piece(reader_.data()); break;
            case http::Found::whole: return complete_body();
            case http::Found::broken: return fail_body(objection_to(reader_.fault()));
            case http::Found::head:
            case http::Found::more:
                if (wait != Wait::body) wait_for(Wait::body);
                return;
        }
    }
}

void Connection::take_piece(std::string_view piece) {
    Exchange& exchange = job_.exchange();
    const std::uint64_t size = exchange.body.size() + piece.size();
    if (size > deps_.config.gate.body_max.count) return fail_body({Problem::body_too_large, {}});
    if (model_) model_->take(piece);
    // The disk answers later, and this connection may be gone by then.
    const Body::Taken taken =
        exchange.body.append(deps_.store_for(job_.pool()), piece, [weak = weak_from_this()](int e) {
            if (const auto self = weak.lock()) self->body_stored(e);
        });
    if (taken == Body::Taken::wait) {
        state_ = State::storing;
        wait_for(Wait::nothing);
    }
    if (size < counted_ + growth_step) return;
    counted_ = size;
    deps_.deliver(BodyGrew{job_.id(), Bytes{size}});
}

void Connection::body_stored(int error) {
    if (state_ != State::storing) return;
    state_ = State::body;
    if (error != 0) return fail_body(objection_to_storing(error));
    go_on();
}

/// Handles the end of the body. Any part that belongs on disk is written before the job is queued.
void Connection::complete_body() {
    state_ = State::storing;
    wait_for(Wait::nothing);
    const Body::Taken taken = job_.exchange().body.complete(
        deps_.store_for(job_.pool()), [weak = weak_from_this()](int error) {
            const auto self = weak.lock();
            if (self == nullptr || self->state_ != State::storing) return;
            if (error == 0) return self->queue_job();
            self->fail_body(objection_to_storing(error));
        });
    if (taken == Body::Taken::all) queue_job();
}

void Connection::queue_job() {
    Exchange& exchange = job_.exchange();
    const std::uint64_t size = exchange.body.size();
    const bool has_length = size > 0 || exchange.method == "POST" || exchange.method == "PUT" ||
                            exchange.method == "PATCH";
    if (has_length) http::append_field(exchange.fields, "Content-Length", size);
    if (auto model = std::exchange(model_, {})) {
        const ModelField::Found found = model->finish();
        if (found == ModelField::Found::not_json) return fail_body({Problem::bad_json, {}});
        const auto pool = deps_.router.pool_for_model(
            found == ModelField::Found::name ? model->name() : std::string_view());
        if (!pool) return fail_body(pool.error());
        if (*pool != job_.pool()) {
            job_.route_to(*pool);
            deps_.deliver(JobRouted{job_.id(), *pool});
        }
    }
    job_.complete_body();
    state_ = State::waiting;
    deps_.deliver(BodyCompleted{job_.id(), Bytes{size}});
    read();  // to notice if the client leaves
}

void Connection::fail_body(Objection objection) {
    objection_ = std::move(objection);
    state_ = State::deciding;
    wait_for(Wait::nothing);
    deps_.deliver(BodyFailed{job_.id()});
}

}  // namespace turnpike
