// The body of a request: a connection takes it out of its framing and puts it into the exchange.
// Once the body is complete, the job can be queued.
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "gate/connection.h"
#include "gate/gate.h"
#include "http/write.h"

namespace turnpike {

namespace {

/// How much a body must grow before we tell the engine again.
constexpr std::uint64_t growth_step = mebibyte.count;

}  // namespace

bool Connection::take_body() {
    const http::BodyDecoder::Step step = decoder_.next(unread());
    in_start_ += step.consumed;
    received_ += step.consumed;
    if (step.progress == http::Progress::fault) {
        fail_body(objection_to(decoder_.fault()));
        return true;
    }
    const std::uint64_t size = exchange_->body.size() + step.data.size();
    if (size > gate_.deps_.config.gate.body_max.count) {
        fail_body({Problem::body_too_large, {}});
        return true;
    }
    const bool is_done = step.progress == http::Progress::done;
    if (is_done) decoder_ = {}, is_request_partial_ = false;
    is_body_whole_ = is_done;
    if (!step.data.empty()) {
        if (model_ != nullptr) model_->take(step.data);
        const Body::Taken taken =
            exchange_->body.append(gate_.store_for(arrival_.pool), step.data,
                                   [self = shared_from_this()](int e) { self->body_stored(e); });
        if (taken == Body::Taken::wait) {
            state_ = State::storing;
            gate_.wait_for(*this, Wait::nothing);
        }
    }
    if (size >= declared_ + growth_step) {
        declared_ = size;
        gate_.deps_.deliver(BodyGrew{job_, Bytes{size}});
    }
    if (state_ != State::body) return true;
    if (is_done) {
        complete_body();
        return true;
    }
    if (step.consumed > 0) return true;
    if (wait != Wait::body) gate_.wait_for(*this, Wait::body);
    return false;
}

void Connection::body_stored(int error) {
    if (state_ != State::storing) return;
    state_ = State::body;
    if (error != 0)
        fail_body({Problem::no_room_on_disk, std::strerror(error)});
    else if (is_body_whole_)
        complete_body();
    go_on();
}

/// Handles the end of the body. Any part that belongs on disk is written before the job is queued.
void Connection::complete_body() {
    gate_.wait_for(*this, Wait::nothing);
    const Body::Taken taken = exchange_->body.complete(
        gate_.store_for(arrival_.pool), [self = shared_from_this()](int error) {
            if (self->state_ != State::storing) return;
            if (error == 0) return self->queue_job();
            self->state_ = State::body;
            self->fail_body({Problem::no_room_on_disk, std::strerror(error)});
        });
    state_ = State::storing;
    if (taken == Body::Taken::all) queue_job();
}

void Connection::queue_job() {
    const std::uint64_t size = exchange_->body.size();
    const bool has_length = size > 0 || exchange_->method == "POST" || exchange_->method == "PUT" ||
                            exchange_->method == "PATCH";
    if (has_length) http::append_field(exchange_->fields, "Content-Length", size);
    record_.bytes_in = Bytes{size};
    if (const auto model = std::exchange(model_, nullptr)) {
        const ModelField::Found found = model->finish();
        if (found == ModelField::Found::not_json) return fail_body({Problem::bad_json, {}});
        const auto pool = gate_.router_.pool_for_model(
            found == ModelField::Found::name ? model->name() : std::string_view());
        if (!pool) return fail_body(pool.error());
        if (*pool != arrival_.pool) {
            arrival_.pool = *pool;
            record_.pool.assign(gate_.deps_.config.pools[pool->value].name);
            gate_.deps_.deliver(JobRouted{job_, *pool});
            if (has_job_ended_) return;
        }
    }
    state_ = State::waiting;
    queued_at_ = gate_.deps_.clock.now();
    gate_.deps_.deliver(BodyCompleted{job_, Bytes{size}});
    go_on();
}

void Connection::fail_body(Objection objection) {
    objection_ = std::move(objection);
    state_ = State::deciding;
    gate_.wait_for(*this, Wait::nothing);
    gate_.deps_.deliver(BodyFailed{job_});
}

}  // namespace turnpike
