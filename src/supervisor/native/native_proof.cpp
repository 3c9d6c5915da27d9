#include "supervisor/native/native_proof.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "http/write.h"
#include "supervisor/native/native_attempts.h"
#include "supervisor/worker/answer_fields.h"
#include "wire/encode.h"

namespace turnpike {

namespace {

constexpr std::size_t answer_max = wire::inline_max;
constexpr Duration excused_every = 250ms;

}  // namespace

void NativeProof::learn(const wire::Ready& frame) {
    has_check_ = frame.checks_proofs;
    if (frame.has_example)
        example_ = {.method = "POST",
                    .path = "/predict",
                    .body = {.content_type = std::string(frame.example_type),
                             .bytes = std::string(frame.example),
                             .size = frame.example.size()}};
}

void NativeProof::begin(std::uint32_t number) {
    CHECK(is_configured() || example_);
    const ProofConfig& rule = host_.lane.pool.proof;
    if (is_configured())
        example_ = {
            .method = rule.method,
            .path = rule.path,
            .body = {
                .content_type = rule.content_type, .bytes = rule.body, .size = rule.body.size()}};
    under_way_ = {
        .id = std::uint64_t{++count_} << NativeAttempts::place_bits | NativeAttempts::place_mask,
        .number = number,
        .began = host_.deps.clock.now(),
        .content_type = {},
        .answer = {}};
    std::string fields;
    if (!example_->body.bytes.empty())
        http::append_field(fields, "Content-Type", example_->body.content_type);
    host_.conversation.sent(under_way_.id);
    out_.clear();
    append_frame(out_, wire::Job{.id = under_way_.id,
                                 .purpose = wire::Purpose::proof,
                                 .name = "proof",
                                 .method = example_->method,
                                 .target = example_->path,
                                 .fields = fields,
                                 .body = {.bytes = example_->body.bytes}});
    host_.link.send(out_);
    excuse_shortage();
}

/// As long as we can't send the proof or read the answer, the engine gives the worker more time.
void NativeProof::excuse_shortage() {
    if (under_way_.id == 0 || !host_.link.is_short()) return;
    host_.deps.deliver(ProofEnded{host_.process.id(), under_way_.number, ProofVerdict::not_sent});
    short_alarm_.set(excused_every, [this] { excuse_shortage(); });
}

bool NativeProof::is_configured() const {
    return host_.lane.pool.settings.proof != ProofKind::none;
}

std::string_view NativeProof::name() const {
    return is_configured() ? "the proof" : "the model's example";
}

ProofBy NativeProof::judge_without_recording() const {
    if (is_configured()) return ProofBy::pool;
    return has_check_ ? ProofBy::check : ProofBy::example;
}

void NativeProof::hear(const wire::Begin& frame) {
    under_way_.status = frame.status;
    under_way_.content_type = field_in(frame.fields, "Content-Type");
}

void NativeProof::hear(const wire::Chunk& frame) {
    under_way_.size += frame.bytes.size();
    if (under_way_.answer.size() <= answer_max) under_way_.answer.append(frame.bytes);
}

void NativeProof::hear(const wire::Done& frame) {
    if (frame.body.is_in_descriptor) {
        if (auto file = host_.link.take_descriptor()) {
            const wire::Breach breach = breach_of(*file, frame.body.in_descriptor);
            close_in_background(*std::move(file));
            if (breach != wire::Breach::none) return host_.link.break_off(breach);
        }
        under_way_.size += frame.body.in_descriptor;  // a body in a descriptor is always too large
    }
    if (frame.status != 0) {
        under_way_.status = frame.status;
        under_way_.content_type = field_in(frame.fields, "Content-Type");
    }
    under_way_.size += frame.body.bytes.size();
    under_way_.answer.append(frame.body.bytes);
    answered();
}

void NativeProof::hear(const wire::Failed& frame) { fail("failed", words_of(frame)); }

ProofAnswer NativeProof::answer() const {
    return {.status = under_way_.status,
            .body = {.content_type = under_way_.content_type,
                     .bytes = under_way_.answer.substr(0, proof_body_max),
                     .size = under_way_.size}};
}

void NativeProof::answered() {
    const int status = under_way_.status;
    const bool is_right = is_configured() ? status == host_.lane.pool.proof.status : status < 400;
    if (!is_right) return fail(fmt::format("was answered with status {}", status));
    if (is_configured() && under_way_.size > answer_max)
        return fail("was answered with more than 1 MiB");
    judge(answer());
}

void NativeProof::judge(ProofAnswer shown) {
    auto judged = lifeline_.bind([this, id = under_way_.id, shown](const Judgement& judgement) {
        if (is_of(id)) end(judgement, shown);
    });
    if (is_configured())
        return host_.deps.background.run(
            [&pool = host_.lane.pool, common = host_.lane.proof, lane = host_.number.value,
             answer = std::move(under_way_.answer)] {
                return judge_answer(pool, common->groups, lane, answer);
            },
            std::move(judged));
    host_.deps.background.run(
        [common = host_.lane.proof, request = *example_, shown = std::move(shown),
         otherwise = judge_without_recording()] {
            Judgement judgement = common->recorded.judge(request, shown);
            if (judgement.by == ProofBy::example) judgement.by = otherwise;
            return judgement;
        },
        std::move(judged));
}

void NativeProof::fail(std::string why, std::string said) {
    end(failed_proof(judge_without_recording(), std::move(why), std::move(said)), answer());
}

void NativeProof::end(const Judgement& judgement, ProofAnswer answer) {
    const UnderWay proof = std::exchange(under_way_, {});
    LaneProof shown;
    shown.request = {.method = example_->method,
                     .path = example_->path,
                     .body = proof_body(example_->body.content_type, example_->body.bytes)};
    shown.answer = std::move(answer);
    shown.file = is_configured() ? "" : recording_path(host_.lane.pool.worker.model);
    shown.generation = host_.generation;
    shown.ended = host_.deps.clock.now();
    shown.took = shown.ended - proof.began;
    std::optional<Duration>& first = host_.process.facts().start.proof;
    if (!first) first = shown.took;
    show_proof(host_.deps.lanes,
               {.lane = host_.number, .worker = host_.process.id(), .name = name()},
               std::move(shown), judgement);
    host_.deps.deliver(
        ProofEnded{host_.process.id(), proof.number, judgement.verdict, judgement.group});
}

}  // namespace turnpike
