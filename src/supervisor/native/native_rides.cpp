#include "supervisor/native/native_rides.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "http/write.h"
#include "supervisor/worker/answer_fields.h"
#include "wire/encode.h"
#include "wire/header_lines.h"

namespace turnpike {

namespace {

constexpr Duration moved_every = 250ms;  // how often progress renews job_timeout
constexpr std::size_t copied_max =
    16 * std::size_t{1024};  // a larger body is sent from where it lies

bool is_small(const Body& body) { return body.is_in_memory() && body.size() <= wire::inline_max; }

/// Nobody waits for a cancelled job's answer; but what its worker says of itself counts.
bool is_of_the_worker(Verdict verdict) {
    return verdict == Verdict::unhealthy || verdict == Verdict::out_of_memory;
}

Verdict verdict_of(wire::FailWhy why) {
    switch (why) {
        case wire::FailWhy::bad_input: return Verdict::bad_input;
        case wire::FailWhy::exception: return Verdict::model_failed;
        case wire::FailWhy::out_of_memory: return Verdict::out_of_memory;
        case wire::FailWhy::non_finite: return Verdict::non_finite;
        case wire::FailWhy::unhealthy: return Verdict::unhealthy;
        case wire::FailWhy::cancelled: return Verdict::cancelled;
    }
    return Verdict::model_failed;
}

}  // namespace

std::string words_of(const wire::Failed& frame) {
    if (frame.why == wire::FailWhy::bad_input || frame.type.empty())
        return std::string(frame.message);
    if (frame.message.empty()) return std::string(frame.type);
    return fmt::format("{}: {}", frame.type, frame.message);
}

wire::Breach breach_of(const UniqueFd& descriptor, std::uint64_t size) {
    constexpr int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    if (!descriptor) return wire::Breach::descriptor_missing;
    const int seals = ::fcntl(descriptor.get(), F_GET_SEALS);  // -1: it is no memfd
    struct stat facts{};
    const bool is_sealed = seals >= 0 && (seals & needed) == needed;
    const bool fits = is_sealed && ::fstat(descriptor.get(), &facts) == 0 &&
                      static_cast<std::uint64_t>(facts.st_size) == size;
    return fits ? wire::Breach::none : wire::Breach::descriptor_unfit;
}

// ── out ──────────────────────────────────────────────────────────────────────────────────────────

void NativeRides::send(const SendJob& action, ExchangePtr exchange) {
    NativeRide& ride = free_ride();
    ride.attempt = action.attempt;
    ride.number = static_cast<std::uint16_t>(std::min<std::uint32_t>(action.number, UINT16_MAX));
    ride.exchange = std::move(exchange);
    ride.exchange->progress = {};
    ride.exchange->trouble.clear();
    ride.exchange->last_words.clear();
    ride.exchange->answer.start(&ride);
    ride.moved_at = host_.deps.clock.now();
    first_job_.sent(*ride.exchange, host_.deps.clock);
    if (action.batch_size == 1 && is_small(ride.exchange->body)) {
        ride.state = NativeRide::State::ready;
        NativeRide* const alone[] = {&ride};
        return send_prepared(alone);
    }
    if (action.batch_index == 0) gathering_ = std::make_shared<Batch>();
    gathering_->push_back(&ride);
    if (action.batch_index + 1 < action.batch_size) return;
    const auto batch = std::exchange(gathering_, nullptr);
    for (std::size_t i = 0; i < batch->size(); ++i) prepare(*(*batch)[i], batch);
}

NativeRide& NativeRides::free_ride() {
    if (free_.empty()) {
        NativeRide& fresh = *rides_.emplace_back(std::make_unique<NativeRide>());
        fresh.id = rides_.size() - 1;
        fresh.has_room = [this, &fresh] {
            if (std::exchange(fresh.is_paused, false)) resume(fresh);
        };
        free_.push_back(&fresh);
    }
    NativeRide& ride = *free_.back();
    free_.pop_back();
    ride.id = ++sequence_ << place_bits | (ride.id & place_mask);
    ride.state = NativeRide::State::preparing;
    ride.body = -1;
    ride.is_cancelled = false;
    ride.is_paused = false;
    ride.left.reset();
    return ride;
}

/// A small body goes with its frame, a large one in a descriptor.
void NativeRides::prepare(NativeRide& ride, const std::shared_ptr<Batch>& batch) {
    Body& body = ride.exchange->body;
    if (is_small(body)) return prepared(ride, batch);
    body.seal(host_.deps.store,
              [this, &ride, id = ride.id, batch, stays = host_.stays()](int file, int error) {
                  if (!is_under_way(ride, id)) return;
                  ride.body = file;
                  if (error == 0) return prepared(ride, batch);
                  ride.exchange->trouble = fmt::format("its body could not be put into memory: {}",
                                                       std::strerror(error));
                  std::erase(*batch, &ride);
                  end(ride, Verdict::model_failed);
                  send_prepared(*batch);
              });
}

void NativeRides::prepared(NativeRide& ride, const std::shared_ptr<Batch>& batch) {
    ride.state = NativeRide::State::ready;
    send_prepared(*batch);
}

/// Once all are.
void NativeRides::send_prepared(std::span<NativeRide* const> batch) {
    const auto is_ready = [](const NativeRide* ride) {
        return ride->state == NativeRide::State::ready;
    };
    if (!std::ranges::all_of(batch, is_ready)) return;
    const auto size = static_cast<std::uint16_t>(batch.size());
    for (std::uint16_t index = 0; index < size; ++index) append(*batch[index], index, size);
    flush();
    for (NativeRide* ride : batch) {
        ride->state = NativeRide::State::sent;
        if (ride->is_cancelled) tell(wire::Cancel{ride->id});
    }
}

void NativeRides::append(const NativeRide& ride, std::uint16_t index, std::uint16_t size) {
    const Exchange& exchange = *ride.exchange;
    wire::Job job{.id = ride.id,
                  .attempt = ride.number,
                  .purpose = exchange.is_aside ? wire::Purpose::aside : wire::Purpose::job,
                  .batch_index = index,
                  .batch_size = size,
                  .name = exchange.name,
                  .method = exchange.method,
                  .target = exchange.target,
                  .fields = exchange.fields};
    host_.conversation.sent(ride.id);
    if (ride.body >= 0) {
        job.body = {.in_descriptor = exchange.body.size(), .is_in_descriptor = true};
        flush();
        append_frame(out_, wire::GateFrame{job});
        host_.link.send(out_, {}, ride.body);
        return out_.clear();
    }
    job.body = {.bytes = exchange.body.bytes()};
    if (job.body.bytes.size() <= copied_max) return append_frame(out_, wire::GateFrame{job});
    append_head(out_, job);
    host_.link.send(out_, job.body.bytes);
    out_.clear();
}

void NativeRides::flush() {
    if (!out_.empty()) host_.link.send(out_);
    out_.clear();
}

void NativeRides::tell(const wire::GateFrame& frame) {
    append_frame(out_, frame);
    flush();
}

void NativeRides::resume(const NativeRide& ride) {
    host_.conversation.resumed(ride.id);
    tell(wire::Resume{ride.id});
}

void NativeRides::cancel(AttemptId attempt) {
    for (const auto& ride : rides_) {
        if (ride->state == NativeRide::State::free || ride->attempt != attempt) continue;
        ride->is_cancelled = true;
        const bool is_there =
            ride->state == NativeRide::State::sent || ride->state == NativeRide::State::flowing;
        if (is_there) tell(wire::Cancel{ride->id});
        return;
    }
}

// ── in ───────────────────────────────────────────────────────────────────────────────────────────

NativeRide& NativeRides::at(std::uint64_t id) {
    NativeRide& ride = *rides_.at(id & place_mask);
    CHECK(is_under_way(ride, id));  // the conversation knows who is aboard
    return ride;
}

bool NativeRides::is_under_way(const NativeRide& ride, std::uint64_t id) {
    return ride.id == id && ride.state != NativeRide::State::free;
}

void NativeRides::hear(const wire::Progress& frame) {
    NativeRide& ride = at(frame.id);
    JobProgress& progress = ride.exchange->progress;
    progress.permille =
        frame.permille == wire::permille_unknown ? std::nullopt : std::optional(frame.permille);
    progress.text = frame.text;
    moved(ride);
}

/// The last thing to do: the engine may end this attempt at once.
void NativeRides::moved(NativeRide& ride) {
    const Instant now = host_.deps.clock.now();
    if (now - ride.moved_at < moved_every) return;
    ride.moved_at = now;
    host_.deps.deliver(AnswerMoved{host_.worker, ride.attempt});
}

AnswerHead& NativeRides::begin_answer(NativeRide& ride, std::uint16_t status,
                                      std::string_view fields) {
    AnswerHead& head = ride.exchange->answer.start(&ride);
    head.status = status;
    head.has_body = ride.exchange->method != "HEAD" && status != 204 && status != 304;
    take_fields(fields, head);
    return head;
}

/// False: the engine, or its client, has ended it.
bool NativeRides::flow(NativeRide& ride) {
    const std::uint64_t id = ride.id;
    ride.state = NativeRide::State::flowing;
    ride.moved_at = host_.deps.clock.now();
    ride.exchange->answer.flow();
    if (is_under_way(ride, id)) host_.deps.deliver(AnswerBegun{host_.worker, ride.attempt});
    return is_under_way(ride, id);
}

void NativeRides::hear(const wire::Begin& frame) {
    NativeRide& ride = at(frame.id);
    AnswerHead& head = begin_answer(ride, frame.status, frame.fields);
    if (const auto length = wire::announced_length(frame.fields)) announce(ride, head, *length);
    flow(ride);
}

void NativeRides::announce(NativeRide& ride, AnswerHead& head, std::uint64_t length) {
    head.has_length = true;
    head.length = length;
    if (head.has_body) ride.left = length;
    const bool is_told_without_body = ride.exchange->method == "HEAD" || head.status == 304;
    if (is_told_without_body && head.status != 204)
        http::append_field(head.fields, "Content-Length", length);
}

wire::Breach NativeRides::hear(const wire::Chunk& frame) {
    NativeRide& ride = at(frame.id);
    if (ride.left) {
        if (frame.bytes.size() > *ride.left) return wire::Breach::length_broken;
        *ride.left -= frame.bytes.size();
    }
    if (ride.is_cancelled || !ride.exchange->answer.head().has_body) return wire::Breach::none;
    const Answer::Room room = ride.exchange->answer.append(host_.deps.store, frame.bytes);
    if (!is_under_way(ride, frame.id)) return wire::Breach::none;
    if (room == Answer::Room::wait && !std::exchange(ride.is_paused, true)) {
        host_.conversation.paused(ride.id);
        tell(wire::Pause{ride.id});
    }
    moved(ride);
    return wire::Breach::none;
}

wire::Breach NativeRides::hear(const wire::Done& frame) {
    NativeRide& ride = at(frame.id);
    UniqueFd file;
    if (frame.body.is_in_descriptor) {
        file = host_.link.take_descriptor();
        const wire::Breach breach = breach_of(file, frame.body.in_descriptor);
        if (breach != wire::Breach::none) {
            close_elsewhere(std::move(file));
            return breach;
        }
    }
    Answer& answer = ride.exchange->answer;
    if (frame.status == 0) {
        if (!ride.is_cancelled && ride.left.value_or(0) > 0) return wire::Breach::length_broken;
        const Verdict verdict = verdict_of(answer.head().status);
        answer.complete();
        if (is_under_way(ride, frame.id)) end(ride, verdict);
        return wire::Breach::none;
    }
    AnswerHead& head = begin_answer(ride, frame.status, frame.fields);
    head.has_length = true;
    head.length = file ? frame.body.in_descriptor : frame.body.bytes.size();
    if (ride.exchange->method == "HEAD" && frame.status != 204)  // which has none to tell
        http::append_field(head.fields, "Content-Length", head.length);
    if (file && head.has_body) {
        if (!flow(ride)) {
            close_elsewhere(std::move(file));
            return wire::Breach::none;
        }
        answer.adopt(std::move(file), frame.body.in_descriptor);
    } else {
        close_elsewhere(std::move(file));  // of a HEAD
        answer.hold();
        if (head.has_body) answer.append(host_.deps.store, frame.body.bytes);
    }
    answer.complete();
    if (is_under_way(ride, frame.id)) end(ride, verdict_of(int{frame.status}));
    return wire::Breach::none;
}

void NativeRides::hear(const wire::Failed& frame) {
    NativeRide& ride = at(frame.id);
    if (frame.why ==
        wire::FailWhy::unhealthy) {  // the job has nothing to do with it, nor its client
        ride.exchange->trouble = "its worker says that it can't go on";
        ride.exchange->last_words = words_of(frame);
    } else {
        ride.exchange->trouble = words_of(frame);
    }
    if (ride.state == NativeRide::State::flowing) ride.exchange->answer.break_off();
    if (is_under_way(ride, frame.id)) end(ride, verdict_of(frame.why));
}

void NativeRides::end(NativeRide& ride, Verdict verdict) {
    const AttemptId attempt = ride.attempt;
    const Verdict told =
        ride.is_cancelled && !is_of_the_worker(verdict) ? Verdict::cancelled : verdict;
    if (const auto took = first_job_.ended(*ride.exchange, told, host_.deps.clock))
        host_.first_job_took(*took);
    give_back(ride);
    host_.deps.deliver(AttemptEnded{host_.worker, attempt, told});
}

void NativeRides::give_back(NativeRide& ride) {
    ride.exchange->answer.forget_writer();
    ride.state = NativeRide::State::free;
    free_.push_back(&ride);
    host_.deps.exchanges.drop(std::move(ride.exchange));
}

// ── the rest ─────────────────────────────────────────────────────────────────────────────────────

void NativeRides::add_stacks(std::span<const AttemptId> attempts, std::string_view text) {
    for (const auto& ride : rides_)
        if (ride->state != NativeRide::State::free &&
            std::ranges::find(attempts, ride->attempt) != attempts.end())
            ride->exchange->stacks = text;
}

std::vector<ExchangePtr> NativeRides::aboard() const {
    std::vector<ExchangePtr> exchanges;
    for (const auto& ride : rides_)
        if (ride->state != NativeRide::State::free) exchanges.push_back(ride->exchange);
    return exchanges;
}

void NativeRides::close(const Farewell& farewell) {
    for (const auto& ride : rides_) {
        if (ride->state == NativeRide::State::free) continue;
        Exchange& exchange = *ride->exchange;
        if (!farewell.trouble.empty()) exchange.trouble = farewell.trouble;
        exchange.last_words = farewell.last_words;
        if (ride->state == NativeRide::State::flowing) exchange.answer.break_off();
        give_back(*ride);
    }
}

}  // namespace turnpike
