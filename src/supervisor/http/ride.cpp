#include "supervisor/http/ride.h"

#include <utility>

#include "base/append.h"
#include "http/fields.h"
#include "http/write.h"
#include "supervisor/worker/answer_fields.h"

namespace turnpike {

namespace {

constexpr Duration moved_every = 250ms;  // how often a flowing answer renews job_timeout

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

Ride::Ride(const Host& host, std::shared_ptr<Link> link) : host_(host), link_(std::move(link)) {}

Ride::~Ride() { stop(); }

void Ride::start(ExchangePtr exchange, AttemptId attempt, std::uint32_t number,
                 std::string_view prefix) {
    exchange_ = std::move(exchange);
    attempt_ = attempt;
    moved_at_ = host_.clock.now();
    exchange_->answer.start(this);
    std::string& head = link_->head();
    head.clear();
    append_all(head, exchange_->method, " ", prefix, exchange_->target, " HTTP/1.1\r\n",
               exchange_->fields);
    http::append_field(head, "Turnpike-Attempt", std::uint64_t{number});
    head.append("\r\n");
    link_->send({.method = http::method_named(exchange_->method).value(),
                 .body = exchange_->body.size() == 0 ? nullptr : &exchange_->body},
                *this);
}

ExchangePtr Ride::stop() {
    link_->close();
    attempt_ = {};
    if (exchange_ == nullptr) return nullptr;
    exchange_->answer.forget_writer();
    if (exchange_->answer.state() == AnswerState::flowing) exchange_->answer.break_off();
    return std::move(exchange_);
}

void Ride::answer_head(const http::ResponseHead& head) {
    verdict_ = verdict_of(head.status);
    Answer& answer = exchange_->answer;
    AnswerHead& to = answer.start(this);
    take_head(head, http::method_named(exchange_->method).value(), to);
    if (to.has_length && to.length <= host_.store.memory_max) return answer.hold();
    moved_at_ = host_.clock.now();
    const AttemptId attempt = attempt_;
    answer.flow();
    if (attempt_ == attempt) host_.deliver(AnswerBegun{host_.worker, attempt});
}

LinkUser::Room Ride::answer_data(std::string_view bytes) {
    const AttemptId attempt = attempt_;
    const Answer::Room room = exchange_->answer.append(host_.store, bytes);
    if (attempt_ == attempt) moved();
    return room == Answer::Room::wait ? Room::wait : Room::enough;
}

/// The last thing to do: the engine may end this attempt at once.
void Ride::moved() {
    const Instant now = host_.clock.now();
    if (now - moved_at_ < moved_every) return;
    moved_at_ = now;
    host_.deliver(AnswerMoved{host_.worker, attempt_});
}

void Ride::answer_has_room() { link_->resume(); }

void Ride::answer_ended() {
    const AttemptId attempt = attempt_;
    exchange_->answer.complete();
    end(attempt, verdict_);
}

void Ride::answer_broke(Break why, http::Fault fault) {
    exchange_->trouble = fault == http::Fault::none ? sentence_of(why) : http::sentence_of(fault);
    const AttemptId attempt = attempt_;
    if (exchange_->answer.state() != AnswerState::none) exchange_->answer.break_off();
    const bool is_delivered = why != Break::refused && why != Break::no_link;
    if (attempt_ != attempt) return;
    verdict_ = is_delivered ? Verdict::broken : Verdict::undelivered;
    host_.broke(*this);
}

/// Telling the answer may show that its client is gone; then the attempt was stopped for that, and
/// this ride may be on its next one already.
void Ride::end(AttemptId attempt, Verdict verdict) {
    if (attempt_ != attempt) return;
    attempt_ = {};
    exchange_->answer.forget_writer();
    moved_at_ = host_.clock.now();
    const Deliver& deliver = host_.deliver;
    const WorkerId worker = host_.worker;
    host_.ended(*this);
    deliver(AttemptEnded{worker, attempt, verdict});
}

}  // namespace turnpike
