// The jobs that a native worker has: each is sent as a frame and answered by one frame, or by
// several if the answer is streamed. wire::Conversation has already checked that the worker's
// frames come in a legal order and belong to jobs that it has.
//
//   preparing ─its body is there─▶ ready ─▶ sent ─begin─▶ flowing ─▶ free
//                                            └──────done, failed──────┘
//
// The members of a batch are sent together, once all their bodies are ready.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/lifeline.h"
#include "core/action.h"
#include "supervisor/native/frame_link.h"
#include "supervisor/process/worker_process.h"
#include "supervisor/worker/first_job.h"
#include "supervisor/worker/lane_worker.h"
#include "wire/conversation.h"
#include "wire/frame.h"

namespace turnpike {

/// One attempt of one job.
struct NativeAttempt final : AnswerWriter {
    enum class State : std::uint8_t { free, preparing, ready, sent, flowing };

    std::uint64_t frame_id = 0;
    State state = State::free;
    AttemptId id;
    std::uint16_t number = 1;  // counts the job's attempts
    ExchangePtr exchange;
    int body = -1;  // a descriptor that the exchange owns; -1 if the body goes with the frame
    bool is_cancelled = false;
    bool is_paused = false;
    std::optional<std::uint64_t> left;  // bytes still to come, if the length was announced
    Instant moved_at{};
    std::function<void()> has_room;

    void answer_has_room() override { has_room(); }
};

class NativeAttempts {
public:
    // The low bits of a frame id are an index into attempts_, enough for the largest lane. The bits
    // above are a count, enough for a million jobs a second for a week. The largest index belongs
    // to proofs.
    static constexpr std::uint64_t place_bits = 24;
    static constexpr std::uint64_t place_mask = (std::uint64_t{1} << place_bits) - 1;

    struct Host {
        WorkerDeps& deps;
        WorkerId worker;
        FrameLink& link;
        wire::Conversation& conversation;
        bool has_gpu;  // the worker's lane has one
        std::function<void(Duration)> first_job_took;
    };
    explicit NativeAttempts(Host host) : host_(std::move(host)) {}

    void send(const SendJob& action, ExchangePtr exchange);
    void cancel(AttemptId id);

    void hear(const wire::Progress& frame);
    void hear(const wire::Begin& frame);
    /// Returns a breach if the answer is longer than `begin` announced.
    [[nodiscard]] wire::Breach hear(const wire::Chunk& frame);
    /// Returns a breach if the answer is shorter than `begin` announced, or if the descriptor that
    /// should have come with the frame is missing or unfit.
    [[nodiscard]] wire::Breach hear(const wire::Done& frame);
    void hear(const wire::Failed& frame);

    /// Adds the stacks to the records of the jobs of these attempts.
    void add_stacks(std::span<const AttemptId> attempts, std::string_view text);
    [[nodiscard]] std::vector<ExchangePtr> aboard() const;
    /// Makes this the trouble of each job aboard.
    void blame(const Trouble& trouble);
    /// Makes the worker's end the trouble of each job aboard, and then forgets the jobs. If it has
    /// no cause, each job keeps its own trouble.
    void close(const Trouble& end_of_worker);

private:
    using Batch = std::vector<NativeAttempt*>;

    NativeAttempt& free_attempt();
    void give_back(NativeAttempt& attempt);
    void prepare(NativeAttempt& attempt, const std::shared_ptr<Batch>& batch);
    void prepared(NativeAttempt& attempt, const std::shared_ptr<Batch>& batch);
    void send_prepared(std::span<NativeAttempt* const> batch);
    void append(const NativeAttempt& attempt, std::uint16_t index, std::uint16_t size);
    void flush();
    void tell(const wire::GateFrame& frame);
    void resume(const NativeAttempt& attempt);

    [[nodiscard]] NativeAttempt& at(std::uint64_t frame_id);
    /// True if this object still holds the attempt with this frame id. It may hold another by the
    /// time the disk has answered.
    [[nodiscard]] static bool is_under_way(const NativeAttempt& attempt, std::uint64_t frame_id);
    [[nodiscard]] static bool is_current(const NativeAttempt& attempt);
    AnswerHead& begin_answer(NativeAttempt& attempt, std::uint16_t status, std::string_view fields);
    static void announce(NativeAttempt& attempt, AnswerHead& head, std::uint64_t length);
    void flow(NativeAttempt& attempt);
    void moved(NativeAttempt& attempt);
    [[nodiscard]] Verdict verdict_for(wire::FailWhy why) const;
    void end(NativeAttempt& attempt, Verdict verdict);

    Host host_;
    std::vector<std::unique_ptr<NativeAttempt>> attempts_;  // by the low bits of frame ids
    std::vector<NativeAttempt*> free_;
    std::shared_ptr<Batch> gathering_;  // the batch whose last job has not come yet
    std::string out_;
    std::uint64_t sequence_ = 0;
    FirstJob first_job_;
    Lifeline lifeline_;
};

/// Returns the model's own words about its failure, in one line: "ValueError: the text".
[[nodiscard]] std::string words_of(const wire::Failed& frame);

/// Returns a breach unless this is the sealed memfd of a body of this size.
[[nodiscard]] wire::Breach breach_of(const UniqueFd& descriptor, std::uint64_t size);

}  // namespace turnpike
