#include "supervisor/native_proof.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "http/write.h"
#include "supervisor/native_rides.h"
#include "wire/encode.h"

namespace turnpike {

namespace {

constexpr std::size_t answer_max = wire::inline_max;

}  // namespace

void NativeProof::learn(const wire::Ready& frame) {
    if (frame.has_example) example_ = {std::string(frame.example_type), std::string(frame.example)};
}

void NativeProof::begin(std::uint32_t number) {
    CHECK(is_configured() || example_);
    const ProofConfig& rule = host_.lane.pool.proof;
    const std::string& type = is_configured() ? rule.content_type : example_->content_type;
    const std::string& body = is_configured() ? rule.body : example_->body;
    under_way_ = {
        .id = std::uint64_t{++count_} << NativeRides::place_bits | NativeRides::place_mask,
        .number = number,
        .began = host_.around.clock.now(),
        .answer = {}};
    std::string fields;
    if (!body.empty()) http::append_field(fields, "Content-Type", type);
    host_.conversation.sent(under_way_.id);
    out_.clear();
    append_frame(out_,
                 wire::Job{.id = under_way_.id,
                           .purpose = wire::Purpose::proof,
                           .name = "proof",
                           .method = is_configured() ? std::string_view(rule.method) : "POST",
                           .target = is_configured() ? std::string_view(rule.path) : "/predict",
                           .fields = fields,
                           .body = {.bytes = body}});
    host_.link.send(out_);
}

bool NativeProof::is_configured() const {
    return host_.lane.pool.settings.proof != ProofKind::none;
}

std::string_view NativeProof::name() const {
    return is_configured() ? "the proof" : "the model's example";
}

void NativeProof::hear(const wire::Begin& frame) { under_way_.status = frame.status; }

void NativeProof::hear(const wire::Chunk& frame) {
    if (under_way_.answer.size() <= answer_max) under_way_.answer.append(frame.bytes);
}

void NativeProof::hear(const wire::Done& frame) {
    if (frame.body.is_in_descriptor) {
        UniqueFd file = host_.link.take_descriptor();
        const wire::Breach breach = breach_of(file, frame.body.in_descriptor);
        close_elsewhere(std::move(file));
        if (breach != wire::Breach::none) return host_.link.break_off(breach);
        under_way_.answer.resize(answer_max + 1);  // whatever it is, it is too much
    }
    if (frame.status != 0) under_way_.status = frame.status;
    under_way_.answer.append(frame.body.bytes);
    answered();
}

void NativeProof::hear(const wire::Failed& frame) {
    host_.process.note(fmt::format("{} failed: {}", name(), words_of(frame)));
    end(ProofVerdict::failed);
}

void NativeProof::answered() {
    const PoolConfig& pool = host_.lane.pool;
    const int status = under_way_.status;
    const bool is_right = is_configured() ? status == pool.proof.status : status < 400;
    if (!is_right) {
        host_.process.note(fmt::format("{} was answered with status {}", name(), status));
        return end(ProofVerdict::failed);
    }
    if (!is_configured()) return end(ProofVerdict::passed);
    if (under_way_.answer.size() > answer_max) {
        host_.process.note("the answer to the proof is larger than 1 MiB");
        return end(ProofVerdict::failed);
    }
    host_.around.background.run(
        [&pool, groups = host_.lane.groups, answer = std::move(under_way_.answer)] {
            return judge_answer(pool, *groups, answer);
        },
        [this, stays = host_.stays(), id = under_way_.id](const Judgement& judgement) {
            if (is_of(id)) judged(judgement);
        });
}

void NativeProof::judged(const Judgement& judgement) {
    if (judgement.verdict == ProofVerdict::failed)
        host_.process.note("wrong answer to the proof: " + judgement.difference);
    end(judgement.verdict, judgement.group);
}

void NativeProof::end(ProofVerdict verdict, std::uint32_t group) {
    const UnderWay proof = std::exchange(under_way_, {});
    std::optional<Duration>& first = host_.process.facts().start.proof;
    if (!first) first = host_.around.clock.now() - proof.began;
    host_.around.deliver(ProofEnded{host_.process.id(), proof.number, verdict, group});
}

}  // namespace turnpike
