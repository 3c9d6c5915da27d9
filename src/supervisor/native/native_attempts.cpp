#include "supervisor/native/native_attempts.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "http/write.h"
#include "os/shortage.h"
#include "supervisor/worker/answer_fields.h"
#include "wire/encode.h"
#include "wire/header_lines.h"

namespace turnpike {

namespace {

constexpr Duration moved_every = 250ms;  // how often progress renews job_timeout
constexpr std::size_t copied_max =
    16 * std::size_t{1024};  // a larger body is sent without copying it first

bool is_small(const Body& body) { return body.is_in_memory() && body.size() <= wire::inline_max; }

/// True if the verdict is about the worker and not about the job. Such a verdict counts even if the
/// job was cancelled.
bool is_of_the_worker(Verdict verdict) {
    return verdict == Verdict::unhealthy || verdict == Verdict::out_of_memory;
}

/// Returns what a client reads of a failure that the worker reported. It follows the verdict, so that
/// the two can't disagree.
Cause cause_of(Verdict verdict) {
    if (verdict == Verdict::bad_input) return Cause::bad_input;
    return verdict == Verdict::unhealthy ? Cause::worker_gives_up : Cause::model_failed;
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
    const int seals = ::fcntl(descriptor.get(), F_GET_SEALS);  // -1 if it is not a memfd
    struct stat facts{};
    const bool is_sealed = seals >= 0 && (seals & needed) == needed;
    const bool fits = is_sealed && ::fstat(descriptor.get(), &facts) == 0 &&
                      static_cast<std::uint64_t>(facts.st_size) == size;
    return fits ? wire::Breach::none : wire::Breach::descriptor_unfit;
}

// ── out ──────────────────────────────────────────────────────────────────────────────────────────

void NativeAttempts::send(const SendJob& action, ExchangePtr exchange) {
    NativeAttempt& attempt = free_attempt();
    attempt.id = action.attempt;
    attempt.number = static_cast<std::uint16_t>(std::min<std::uint32_t>(action.number, UINT16_MAX));
    attempt.exchange = std::move(exchange);
    attempt.exchange->answer.start(&attempt);
    attempt.moved_at = host_.deps.clock.now();
    first_job_.sent(*attempt.exchange, host_.deps.clock);
    if (action.batch_size == 1 && is_small(attempt.exchange->body)) {
        attempt.state = NativeAttempt::State::ready;
        NativeAttempt* const alone[] = {&attempt};
        return send_prepared(alone);
    }
    if (action.batch_index == 0) gathering_ = std::make_shared<Batch>();
    gathering_->push_back(&attempt);
    if (action.batch_index + 1 < action.batch_size) return;
    const auto batch = std::exchange(gathering_, nullptr);
    for (std::size_t i = 0; i < batch->size(); ++i) prepare(*(*batch)[i], batch);
}

NativeAttempt& NativeAttempts::free_attempt() {
    if (free_.empty()) {
        NativeAttempt& fresh = *attempts_.emplace_back(std::make_unique<NativeAttempt>());
        fresh.frame_id = attempts_.size() - 1;
        fresh.has_room = [this, &fresh] {
            if (std::exchange(fresh.is_paused, false)) resume(fresh);
        };
        free_.push_back(&fresh);
    }
    NativeAttempt& attempt = *free_.back();
    free_.pop_back();
    attempt.frame_id = ++sequence_ << place_bits | (attempt.frame_id & place_mask);
    attempt.state = NativeAttempt::State::preparing;
    attempt.body = -1;
    attempt.is_cancelled = false;
    attempt.is_paused = false;
    attempt.left.reset();
    return attempt;
}

/// Gets the body ready: a small one goes with its frame, a large one in a descriptor.
void NativeAttempts::prepare(NativeAttempt& attempt, const std::shared_ptr<Batch>& batch) {
    Body& body = attempt.exchange->body;
    if (is_small(body)) return prepared(attempt, batch);
    const auto sealed = [this, &attempt, frame_id = attempt.frame_id, batch](int file, int error) {
        if (!is_under_way(attempt, frame_id)) return;
        attempt.body = file;
        if (error == 0) return prepared(attempt, batch);
        Trouble& trouble = attempt.exchange->attempt.trouble;
        trouble.cause = Cause::body_not_stored;
        trouble.told = text_of_error(error);
        std::erase(*batch, &attempt);
        end(attempt, Verdict::shortage);
        send_prepared(*batch);
    };
    body.seal(host_.deps.store, lifeline_.bind(sealed));
}

void NativeAttempts::prepared(NativeAttempt& attempt, const std::shared_ptr<Batch>& batch) {
    attempt.state = NativeAttempt::State::ready;
    send_prepared(*batch);
}

/// Sends the batch once every body is ready.
void NativeAttempts::send_prepared(std::span<NativeAttempt* const> batch) {
    const auto is_ready = [](const NativeAttempt* attempt) {
        return attempt->state == NativeAttempt::State::ready;
    };
    if (!std::ranges::all_of(batch, is_ready)) return;
    const auto size = static_cast<std::uint16_t>(batch.size());
    for (std::uint16_t index = 0; index < size; ++index) append(*batch[index], index, size);
    flush();
    for (NativeAttempt* attempt : batch) {
        attempt->state = NativeAttempt::State::sent;
        if (attempt->is_cancelled) tell(wire::Cancel{attempt->frame_id});
    }
}

void NativeAttempts::append(const NativeAttempt& attempt, std::uint16_t index, std::uint16_t size) {
    const Exchange& exchange = *attempt.exchange;
    wire::Job job{.id = attempt.frame_id,
                  .attempt = attempt.number,
                  .purpose = exchange.is_aside ? wire::Purpose::aside : wire::Purpose::job,
                  .batch_index = index,
                  .batch_size = size,
                  .name = exchange.name,
                  .method = exchange.method,
                  .target = exchange.target,
                  .fields = exchange.fields};
    host_.conversation.sent(attempt.frame_id);
    if (attempt.body >= 0) {
        job.body = {.in_descriptor = exchange.body.size(), .is_in_descriptor = true};
        flush();
        append_frame(out_, wire::GateFrame{job});
        host_.link.send(out_, {}, {.file = attempt.body, .owner = exchange.body.sealed_file()});
        return out_.clear();
    }
    job.body = {.bytes = exchange.body.bytes()};
    if (job.body.bytes.size() <= copied_max) return append_frame(out_, wire::GateFrame{job});
    append_head(out_, job);
    host_.link.send(out_, job.body.bytes);
    out_.clear();
}

void NativeAttempts::flush() {
    if (!out_.empty()) host_.link.send(out_);
    out_.clear();
}

void NativeAttempts::tell(const wire::GateFrame& frame) {
    append_frame(out_, frame);
    flush();
}

void NativeAttempts::resume(const NativeAttempt& attempt) {
    host_.conversation.resumed(attempt.frame_id);
    tell(wire::Resume{attempt.frame_id});
}

void NativeAttempts::cancel(AttemptId id) {
    for (const auto& attempt : attempts_) {
        if (attempt->state == NativeAttempt::State::free || attempt->id != id) continue;
        attempt->is_cancelled = true;
        const bool is_there = attempt->state == NativeAttempt::State::sent ||
                              attempt->state == NativeAttempt::State::flowing;
        if (is_there) tell(wire::Cancel{attempt->frame_id});
        return;
    }
}

// ── in ───────────────────────────────────────────────────────────────────────────────────────────

NativeAttempt& NativeAttempts::at(std::uint64_t frame_id) {
    NativeAttempt& attempt = *attempts_.at(frame_id & place_mask);
    CHECK(is_under_way(attempt, frame_id));  // the conversation has checked the id
    return attempt;
}

bool NativeAttempts::is_under_way(const NativeAttempt& attempt, std::uint64_t frame_id) {
    return attempt.frame_id == frame_id && attempt.state != NativeAttempt::State::free;
}

void NativeAttempts::hear(const wire::Progress& frame) {
    NativeAttempt& attempt = at(frame.id);
    JobProgress& progress = attempt.exchange->attempt.progress;
    progress.permille =
        frame.permille == wire::permille_unknown ? std::nullopt : std::optional(frame.permille);
    progress.text = frame.text;
    moved(attempt);
}

/// Tells the engine now and then that the job makes progress.
void NativeAttempts::moved(NativeAttempt& attempt) {
    const Instant now = host_.deps.clock.now();
    if (now - attempt.moved_at < moved_every) return;
    attempt.moved_at = now;
    host_.deps.deliver(AnswerMoved{host_.worker, attempt.id});
}

AnswerHead& NativeAttempts::begin_answer(NativeAttempt& attempt, std::uint16_t status,
                                         std::string_view fields) {
    AnswerHead& head = attempt.exchange->answer.start(&attempt);
    head.status = status;
    head.has_body = attempt.exchange->method != "HEAD" && status != 204 && status != 304;
    take_fields(fields, head);
    return head;
}

/// Lets the client read the answer while it comes.
void NativeAttempts::flow(NativeAttempt& attempt) {
    attempt.state = NativeAttempt::State::flowing;
    attempt.moved_at = host_.deps.clock.now();
    attempt.exchange->answer.flow();
    host_.deps.deliver(AnswerBegun{host_.worker, attempt.id});
}

void NativeAttempts::hear(const wire::Begin& frame) {
    NativeAttempt& attempt = at(frame.id);
    AnswerHead& head = begin_answer(attempt, frame.status, frame.fields);
    if (const auto length = wire::announced_length(frame.fields)) announce(attempt, head, *length);
    flow(attempt);
}

void NativeAttempts::announce(NativeAttempt& attempt, AnswerHead& head, std::uint64_t length) {
    head.has_length = true;
    head.length = length;
    if (head.has_body) attempt.left = length;
    const bool is_told_without_body = attempt.exchange->method == "HEAD" || head.status == 304;
    if (is_told_without_body && head.status != 204)
        http::append_field(head.fields, "Content-Length", length);
}

wire::Breach NativeAttempts::hear(const wire::Chunk& frame) {
    NativeAttempt& attempt = at(frame.id);
    if (attempt.left) {
        if (frame.bytes.size() > *attempt.left) return wire::Breach::length_broken;
        *attempt.left -= frame.bytes.size();
    }
    if (attempt.is_cancelled || !attempt.exchange->answer.head().has_body)
        return wire::Breach::none;
    const Answer::Room room = attempt.exchange->answer.append(host_.deps.store, frame.bytes);
    if (room == Answer::Room::wait && !std::exchange(attempt.is_paused, true)) {
        host_.conversation.paused(attempt.frame_id);
        tell(wire::Pause{attempt.frame_id});
    }
    moved(attempt);
    return wire::Breach::none;
}

wire::Breach NativeAttempts::hear(const wire::Done& frame) {
    NativeAttempt& attempt = at(frame.id);
    UniqueFd file;
    if (frame.body.is_in_descriptor) {
        auto taken = host_.link.take_descriptor();
        if (!taken) {
            attempt.exchange->attempt.trouble.cause = Cause::shortage;
            end(attempt, Verdict::shortage);
            return wire::Breach::none;
        }
        file = *std::move(taken);
        const wire::Breach breach = breach_of(file, frame.body.in_descriptor);
        if (breach != wire::Breach::none) {
            close_in_background(std::move(file));
            return breach;
        }
    }
    Answer& answer = attempt.exchange->answer;
    if (frame.status == 0) {
        if (!attempt.is_cancelled && attempt.left.value_or(0) > 0)
            return wire::Breach::length_broken;
        const Verdict verdict = verdict_of(answer.head().status);
        answer.complete();
        end(attempt, verdict);
        return wire::Breach::none;
    }
    AnswerHead& head = begin_answer(attempt, frame.status, frame.fields);
    head.has_length = true;
    head.length = file ? frame.body.in_descriptor : frame.body.bytes.size();
    if (attempt.exchange->method == "HEAD" && frame.status != 204)  // a 204 must not have a length
        http::append_field(head.fields, "Content-Length", head.length);
    if (file && head.has_body) {
        flow(attempt);
        answer.adopt(std::move(file), frame.body.in_descriptor);
    } else {
        close_in_background(std::move(file));  // an answer without a body, such as to HEAD
        answer.hold();
        if (head.has_body) answer.append(host_.deps.store, frame.body.bytes);
    }
    answer.complete();
    end(attempt, verdict_of(int{frame.status}));
    return wire::Breach::none;
}

void NativeAttempts::hear(const wire::Failed& frame) {
    NativeAttempt& attempt = at(frame.id);
    const Verdict verdict = verdict_for(frame.why);
    Trouble& trouble = attempt.exchange->attempt.trouble;
    trouble.cause = cause_of(verdict);
    trouble.said = words_of(frame);
    if (attempt.state == NativeAttempt::State::flowing) attempt.exchange->answer.break_off();
    end(attempt, verdict);
}

/// A lane without a GPU can't run out of its memory, whatever an old or odd worker says. If it could,
/// a client might make the worker prove itself after each job.
Verdict NativeAttempts::verdict_for(wire::FailWhy why) const {
    switch (why) {
        case wire::FailWhy::bad_input: return Verdict::bad_input;
        case wire::FailWhy::exception: return Verdict::model_failed;
        case wire::FailWhy::out_of_memory:
            return host_.has_gpu ? Verdict::out_of_memory : Verdict::model_failed;
        case wire::FailWhy::non_finite: return Verdict::non_finite;
        case wire::FailWhy::unhealthy: return Verdict::unhealthy;
        case wire::FailWhy::cancelled: return Verdict::cancelled;
    }
    return Verdict::model_failed;
}

void NativeAttempts::end(NativeAttempt& attempt, Verdict verdict) {
    const AttemptId id = attempt.id;
    const Verdict told =
        attempt.is_cancelled && !is_of_the_worker(verdict) ? Verdict::cancelled : verdict;
    if (const auto took = first_job_.ended(*attempt.exchange, told, host_.deps.clock))
        host_.first_job_took(*took);
    give_back(attempt);
    host_.deps.deliver(AttemptEnded{host_.worker, id, told});
}

/// False if a later attempt of the job uses the exchange already, on another worker: this one was
/// killed with its worker.
bool NativeAttempts::is_current(const NativeAttempt& attempt) {
    return attempt.exchange->attempt.id == attempt.id;
}

void NativeAttempts::give_back(NativeAttempt& attempt) {
    if (is_current(attempt)) attempt.exchange->answer.forget_writer();
    attempt.state = NativeAttempt::State::free;
    free_.push_back(&attempt);
    host_.deps.exchanges.drop(std::move(attempt.exchange));
}

// ── the rest ─────────────────────────────────────────────────────────────────────────────────────

void NativeAttempts::add_stacks(std::span<const AttemptId> attempts, std::string_view text) {
    for (const auto& attempt : attempts_)
        if (attempt->state != NativeAttempt::State::free &&
            std::ranges::find(attempts, attempt->id) != attempts.end() && is_current(*attempt))
            attempt->exchange->attempt.stacks = text;
}

std::vector<ExchangePtr> NativeAttempts::aboard() const {
    std::vector<ExchangePtr> exchanges;
    for (const auto& attempt : attempts_)
        if (attempt->state != NativeAttempt::State::free) exchanges.push_back(attempt->exchange);
    return exchanges;
}

void NativeAttempts::blame(const Trouble& trouble) {
    for (const auto& attempt : attempts_)
        if (attempt->state != NativeAttempt::State::free && is_current(*attempt))
            attempt->exchange->attempt.trouble = trouble;
}

void NativeAttempts::close(const Trouble& end_of_worker) {
    if (!end_of_worker.is_none()) blame(end_of_worker);
    for (const auto& attempt : attempts_) {
        if (attempt->state == NativeAttempt::State::free) continue;
        if (attempt->state == NativeAttempt::State::flowing && is_current(*attempt))
            attempt->exchange->answer.break_off();
        give_back(*attempt);
    }
}

}  // namespace turnpike
