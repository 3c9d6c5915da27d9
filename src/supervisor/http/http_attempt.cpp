#include "supervisor/http/http_attempt.h"

#include <utility>

#include "base/append.h"
#include "http/fields.h"
#include "http/write.h"
#include "os/shortage.h"
#include "supervisor/worker/answer_fields.h"

namespace turnpike {

namespace {

constexpr Duration moved_every = 250ms;  // how often a flowing answer renews job_timeout

/// Later attempts use a new connection, so that a job turns stale at most once. Asides are never sent
/// again.
bool needs_new_connection(const Exchange& exchange, std::uint32_t number) {
    return number > 1 || exchange.is_aside;
}

Verdict verdict_of(Break why) {
    switch (why) {
        case Break::refused:
        case Break::no_link:
        case Break::stranger: return Verdict::undelivered;
        case Break::shortage:
        case Break::no_port:
        case Break::unreadable: return Verdict::shortage;  // our own disk
        case Break::stale: return Verdict::stale;
        case Break::missing:
        case Break::truncated:
        case Break::malformed: return Verdict::broken;
    }
    return Verdict::broken;
}

Cause cause_of(Break why) {
    switch (why) {
        case Break::refused: return Cause::refused;
        case Break::no_link:
        case Break::stranger: return Cause::not_connected;
        case Break::shortage:
        case Break::no_port: return Cause::shortage;
        case Break::stale: return Cause::stale;
        case Break::missing: return Cause::no_answer;
        case Break::truncated: return Cause::cut_off;
        case Break::malformed: return Cause::not_valid_http;
        case Break::unreadable: return Cause::body_unreadable;
    }
    return Cause::no_answer;
}

void take_head(const http::ResponseHead& from, http::Method asked, AnswerHead& to) {
    to.status = from.status;
    to.has_body = asked != http::Method::head && from.status != 204 && from.status != 304;
    to.has_length = from.framing == http::Framing::length || from.framing == http::Framing::none;
    to.length = from.framing == http::Framing::length ? from.length : 0;
    const bool may_tell_length = asked == http::Method::head || from.status == 304;
    for (const http::Field& field : from.fields) {
        const bool tells_length = may_tell_length && http::is_named(field.name, "content-length");
        if (tells_length || !http::is_hop_by_hop(field, from.fields)) take_field(field, to);
    }
}

}  // namespace

HttpAttempt::HttpAttempt(const Host& host, const LinkDeps& deps, Destination& destination)
    : host_(host), link_(deps, destination) {}

HttpAttempt::~HttpAttempt() { stop(); }

void HttpAttempt::start(ExchangePtr exchange, AttemptId id, std::uint32_t number,
                        std::string_view prefix) {
    exchange_ = std::move(exchange);
    id_ = id;
    moved_at_ = host_.clock.now();
    exchange_->answer.start(this);
    std::string& head = link_.head();
    head.clear();
    append_all(head, exchange_->method, " ", prefix, exchange_->target, " HTTP/1.1\r\n",
               exchange_->fields);
    http::append_field(head, "Turnpike-Attempt", std::uint64_t{number});
    const LinkRequest request{
        .method = http::method_named(exchange_->method).value(),
        .body = exchange_->body.size() == 0 ? nullptr : &exchange_->body,
        .needs_new_connection = needs_new_connection(*exchange_, number),
    };
    if (!link_.may_reuse_after(request)) http::append_field(head, "Connection", "close");
    head.append("\r\n");
    link_.send(request, *this);
}

ExchangePtr HttpAttempt::stop() {
    link_.close();
    if (is_current()) {
        exchange_->answer.forget_writer();
        if (exchange_->answer.state() == AnswerState::flowing) exchange_->answer.break_off();
    }
    id_ = {};
    return std::exchange(exchange_, nullptr);
}

void HttpAttempt::answer_head(const http::ResponseHead& head) {
    verdict_ = verdict_of(head.status);
    Answer& answer = exchange_->answer;
    AnswerHead& to = answer.start(this);
    take_head(head, http::method_named(exchange_->method).value(), to);
    if (to.has_length && to.length <= host_.store.memory_max) return answer.hold();
    moved_at_ = host_.clock.now();
    answer.flow();
    host_.deliver(AnswerBegun{host_.worker, id_});
}

LinkUser::Room HttpAttempt::answer_data(std::string_view bytes) {
    const Answer::Room room = exchange_->answer.append(host_.store, bytes);
    moved();
    return room == Answer::Room::wait ? Room::wait : Room::enough;
}

/// Tells the engine now and then that the answer makes progress.
void HttpAttempt::moved() {
    const Instant now = host_.clock.now();
    if (now - moved_at_ < moved_every) return;
    moved_at_ = now;
    host_.deliver(AnswerMoved{host_.worker, id_});
}

void HttpAttempt::answer_has_room() { link_.resume(); }

void HttpAttempt::answer_ended() {
    exchange_->answer.complete();
    conclude();
}

void HttpAttempt::answer_broke(Break why, http::Fault fault) {
    Trouble& trouble = exchange_->attempt.trouble;
    trouble.cause = cause_of(why);
    trouble.told = fault == http::Fault::none ? "" : http::sentence_of(fault);
    if (why == Break::stranger) trouble.told = "another program listens at the worker's address";
    if (why == Break::no_port) trouble.told = text_of(Shortage::ports);
    if (exchange_->answer.state() != AnswerState::none) exchange_->answer.break_off();
    verdict_ = verdict_of(why);
    if (verdict_ == Verdict::shortage) return conclude();  // this says nothing about the worker
    host_.broke(*this);
}

void HttpAttempt::conclude() {
    if (is_current()) exchange_->answer.forget_writer();
    host_.deliver(AttemptEnded{host_.worker, std::exchange(id_, {}), verdict_});
    moved_at_ = host_.clock.now();
    host_.ended(*this);
}

}  // namespace turnpike
