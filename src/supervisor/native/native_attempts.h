// The jobs that a native worker has aboard: each goes out as a frame, and comes back as one (or, if it
// streams, as several). Frames are in turn and of jobs aboard: wire::Conversation has looked.
//
//   preparing ─its body is at hand─▶ ready ─▶ sent ─begin─▶ flowing ─▶ free
//                                              └──────done, failed──────┘
//
// Members of a batch are sent together, when the bodies of all are ready.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

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
    std::uint16_t number = 1;  // of the attempt
    ExchangePtr exchange;
    int body = -1;  // a descriptor that the exchange keeps; -1: the body goes with the frame
    bool is_cancelled = false;
    bool is_paused = false;
    std::optional<std::uint64_t> left;  // bytes of the body, where its length was announced
    Instant moved_at{};
    std::function<void()> has_room;

    void answer_has_room() override { has_room(); }
};

class NativeAttempts {
public:
    // A job's number has its place in its low bits: enough for the largest lane; and those above it are
    // enough for a million jobs a second, for a week.
    static constexpr std::uint64_t place_bits = 24;
    static constexpr std::uint64_t place_mask = (std::uint64_t{1} << place_bits) - 1;  // no job's

    struct Host {
        WorkerDeps& deps;
        WorkerId worker;
        FrameLink& link;
        wire::Conversation& conversation;
        std::function<std::shared_ptr<void>()>
            keep_alive;  // keeps the worker while something is waited for
        std::function<void(Duration)> first_job_took;
    };
    explicit NativeAttempts(Host host) : host_(std::move(host)) {}

    void send(const SendJob& action, ExchangePtr exchange);
    void cancel(AttemptId id);

    void hear(const wire::Progress& frame);
    void hear(const wire::Begin& frame);
    /// What is wrong with its length, by the one that `begin` announced.
    [[nodiscard]] wire::Breach hear(const wire::Chunk& frame);
    /// The same; or what is wrong with the descriptor that should have come with it.
    [[nodiscard]] wire::Breach hear(const wire::Done& frame);
    void hear(const wire::Failed& frame);

    /// For the records of the jobs that these attempts are of.
    void add_stacks(std::span<const AttemptId> attempts, std::string_view text);
    [[nodiscard]] std::vector<ExchangePtr> aboard() const;
    void close(const EndNotice& notice);

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
    /// Whatever was told meanwhile, it is still the same attempt.
    [[nodiscard]] static bool is_under_way(const NativeAttempt& attempt, std::uint64_t frame_id);
    AnswerHead& begin_answer(NativeAttempt& attempt, std::uint16_t status, std::string_view fields);
    static void announce(NativeAttempt& attempt, AnswerHead& head, std::uint64_t length);
    bool flow(NativeAttempt& attempt);
    void moved(NativeAttempt& attempt);
    void end(NativeAttempt& attempt, Verdict verdict);

    Host host_;
    std::vector<std::unique_ptr<NativeAttempt>> attempts_;  // an id's low half is a place here
    std::vector<NativeAttempt*> free_;
    std::shared_ptr<Batch> gathering_;  // until its last member is there
    std::string out_;
    std::uint64_t sequence_ = 0;
    FirstJob first_job_;
};

/// What a model says of its failure, in one line: "ValueError: the text".
[[nodiscard]] std::string words_of(const wire::Failed& frame);

/// Whether this is the sealed memfd of a body of this size.
[[nodiscard]] wire::Breach breach_of(const UniqueFd& descriptor, std::uint64_t size);

}  // namespace turnpike
