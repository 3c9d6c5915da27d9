#include "gate/client_job.h"

#include <algorithm>
#include <utility>

#include "gate/lost_answers.h"
#include "gate/trouble_text.h"
#include "http/message.h"

namespace turnpike {

namespace {

/// True if the worker has finished with the job, so that nobody reads its body any more. If the job
/// ended for another reason, the worker may still be receiving the body.
bool has_worker_finished(EndReason reason) {
    return reason == EndReason::answered || reason == EndReason::bad_input ||
           is_model_failure(reason);
}

}  // namespace

ClientJob::ClientJob(const ConnectionDeps& deps, const Peer& peer, const ClientUse& at_address)
    : deps_(deps), peer_(peer), at_address_(at_address) {
    record_.client.assign(peer_.text);
}

void ClientJob::arrive(Arrival arrival, const http::RequestHead& head, const ApiKey* key) {
    arrival_ = std::move(arrival);
    const std::optional<std::string> address = forwarded_for(head);
    record_.client.assign(address ? *address : peer_.text);
    client_ = key != nullptr ? deps_.clients.with_key(*key)
              : address      ? deps_.clients.at_address(*address)
                             : at_address_.again();
    arrived_at_ = deps_.clock.now();
    record_.key.assign(key == nullptr ? std::string_view() : key->name);
    record_.key_id = key == nullptr ? 0 : key->id();
    record_.pool.assign(deps_.config.pools[arrival_.pool.value].name);
    record_.arrived_unix_ns = deps_.clock.unix_ns(arrived_at_);
    record_.method.assign(http::name_of(head.method));
    record_.path.assign(arrival_.target.substr(0, arrival_.target.find('?')));
    state_ = State::arrived;
}

std::optional<std::string> ClientJob::forwarded_for(const http::RequestHead& head) const {
    return deps_.proxies.client_of(head.fields, peer_.entrance, peer_.address);
}

void ClientJob::turn_away(const Objection& objection, EndReason reason) {
    deps_.refusals.add(arrival_.pool, client_.id());
    refuse(objection, reason);
}

void ClientJob::refuse(const Objection& objection, EndReason reason) {
    note_problem(objection);
    record_.id = {};
    record_.upload = record_.queue = record_.run = Duration::zero();
    record_.outcome = Outcome::refused;
    record_.reason = reason;
    deps_.archive.add(record_);
    record_.failure = {};
    record_.status = 0;
    state_ = State::none;
}

void ClientJob::admit(JobId job, const http::RequestHead& head, AnswerReader& reader) {
    record_.job = job;
    record_.id = deps_.names.name_of(job);
    queued_at_.reset();
    exchange_ = deps_.exchanges.open(job);
    exchange_->answer.set_reader(&reader);
    exchange_->name.assign(record_.id.view());
    exchange_->is_aside = arrival_.is_aside;
    exchange_->method.assign(http::name_of(head.method));
    exchange_->target.assign(arrival_.target);
    append_forwarded_fields(
        exchange_->fields,
        {.head = head, .keys = deps_.keys(), .client = peer_.address, .job = record_.id.view()});
    state_ = State::live;
}

void ClientJob::route_to(PoolId pool) {
    arrival_.pool = pool;
    record_.pool.assign(deps_.config.pools[pool.value].name);
}

void ClientJob::complete_body() {
    record_.bytes_in = Bytes{exchange_->body.size()};
    queued_at_ = deps_.clock.now();
}

void ClientJob::sent(const SendJob& send) {
    record_.lane = send.lane;
    record_.gpu.assign(deps_.lanes[send.lane.value].gpu);
    record_.attempts = send.number;
}

void ClientJob::end(const EndJob& end) {
    const Instant now = deps_.clock.now();
    state_ = State::ended;
    record_.lane = end.lane;
    record_.attempts = end.attempts;
    record_.outcome = outcome_of(end.reason);
    record_.reason = end.reason;
    record_.upload = (queued_at_ ? *queued_at_ : now) - arrived_at_;
    record_.queue = queue_time();
    record_.run = end.attempts > 0 ? now - exchange_->attempt.began : Duration::zero();
    settle_loss();
    // The client may read the answer for a long time, so give the memory back now.
    if (has_worker_finished(end.reason)) exchange_->body.clear();
}

/// Returns the time from the last byte of the body to the last attempt, or until now.
Duration ClientJob::queue_time() const {
    if (!queued_at_) return Duration::zero();
    return (has_run() ? exchange_->attempt.began : deps_.clock.now()) - *queued_at_;
}

JobMarks ClientJob::marks() const {
    const AttemptReport& attempt = exchange_->attempt;
    return {.job = record_.id.view(),
            .lane = has_run() ? std::optional(record_.lane.value) : std::nullopt,
            .attempts = record_.attempts,
            .generation = attempt.generation.is_none() ? 0 : attempt.generation.value,
            .queue = queue_time(),
            .run = has_run() ? deps_.clock.now() - attempt.began : Duration::zero()};
}

Objection ClientJob::objection_to_end() const {
    Objection objection = deps_.objections.of(arrival_.pool, record_.reason);
    if (is_caused_by_attempt(record_.reason))
        objection.detail = detail_for(audience(), exchange_->attempt.trouble);
    return objection;
}

/// Returns how much the client may read of what its job's worker said. What comes from a proxy on
/// this machine may be anybody's, even if the proxy does not say so.
Audience ClientJob::audience() const {
    const bool is_of_proxy =
        arrival_.is_forwarded || (peer_.entrance == Entrance::tcp &&
                                  deps_.proxies.is_trusted(peer_.entrance, peer_.address));
    const bool is_local = !is_of_proxy && (peer_.entrance == Entrance::command_line ||
                                           is_loopback_host(peer_.address));
    const bool is_trusted =
        is_local || deps_.config.pools[arrival_.pool.value].errors == ErrorsShown::full;
    return is_trusted ? Audience::trusted : Audience::anybody;
}

std::optional<std::uint64_t> ClientJob::lane_with_log() const {
    if (!has_run() || !deps_.config.pools[arrival_.pool.value].is_started()) return std::nullopt;
    return record_.lane.value;
}

void ClientJob::note_problem(const Objection& objection) {
    record_.status = status_of(objection.problem);
    note_break(objection);
}

/// Keeps what the client reads about it, and what the worker said and the client does not read.
void ClientJob::note_break(const Objection& objection) {
    record_.failure = {};
    record_.failure.problem.assign(slug_of(objection.problem));
    record_.failure.detail.assign(objection.detail);
    if (state_ == State::ended && is_caused_by_attempt(record_.reason))
        record_.failure.withheld = words_withheld_from(audience(), exchange_->attempt.trouble);
}

void ClientJob::note_loss(EndReason why, Bytes taken) {
    if (loss_) return;
    loss_ = why;
    deps_.losses.add_cut(why);
    record_.bytes_out = std::min(record_.bytes_out, taken);
    settle_loss();
}

/// The engine knows of the loss only if the job was still live.
void ClientJob::settle_loss() {
    if (!loss_ || state_ != State::ended) return;
    if (record_.outcome == Outcome::finished) {
        deps_.losses.add(arrival_.pool, outcome_of(*loss_));
        record_.outcome = outcome_of(*loss_);
        record_.reason = *loss_;
    }
    if (record_.failure.detail.empty()) record_.failure.detail.assign(sentence_about_loss(*loss_));
}

void ClientJob::log() {
    if (!exchange_->attempt.stacks.empty()) {
        record_.is_slow = true;
        deps_.archive.keep_stacks(record_.job, std::exchange(exchange_->attempt.stacks, {}));
    }
    deps_.archive.add(record_);
}

void ClientJob::release() {
    if (!is_open()) return;
    if (state_ == State::ended) log();
    exchange_->answer.abandon();
    deps_.exchanges.close(std::move(exchange_));
    exchange_ = nullptr;
    record_.job = {};
    record_.lane = {};
    record_.attempts = 0;
    record_.status = 0;
    record_.is_slow = false;
    if (!record_.failure.detail.empty() || !record_.failure.problem.empty()) record_.failure = {};
    loss_.reset();
    record_.bytes_in = record_.bytes_out = {};
    state_ = State::none;
}

}  // namespace turnpike
