// Proofs of a native worker: sends the request of the pool's proof, or the model's own example, as
// a job over the worker's link, has the answer judged, and tells the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/lifeline.h"
#include "proof/proof_result.h"
#include "proof/recorded_proof.h"
#include "supervisor/native/frame_link.h"
#include "supervisor/process/worker_process.h"
#include "supervisor/worker/lane_worker.h"
#include "wire/conversation.h"
#include "wire/frame.h"

namespace turnpike {

class NativeProof {
public:
    struct Host {
        WorkerDeps& deps;
        WorkerProcess& process;
        const StartedLane& lane;
        LaneId number;
        Generation generation;
        FrameLink& link;
        wire::Conversation& conversation;
    };
    explicit NativeProof(Host host) : host_(std::move(host)), short_alarm_(host_.deps.alarms) {}

    /// Notes the model's example, which is the proof if the pool has none of its own.
    void learn(const wire::Ready& frame);
    /// Starts a proof. The worker must be up.
    void begin(std::uint32_t number);
    /// True if a frame with this id belongs to the proof under way.
    [[nodiscard]] bool is_of(std::uint64_t id) const { return id == under_way_.id; }

    void hear(const wire::Begin& frame);
    void hear(const wire::Chunk& frame);
    void hear(const wire::Done& frame);
    void hear(const wire::Failed& frame);
    void hear(const wire::Progress&) {}
    /// Forgets the proof under way.
    /// Gives the worker more time as long as the link is short of something. Must be called when that
    /// begins while a proof may be under way.
    void excuse_shortage();
    void close() {
        under_way_ = {};
        short_alarm_.cancel();
    }

private:
    struct UnderWay {
        std::uint64_t id = 0;  // the id in its frames; 0 if no proof is under way
        std::uint32_t number = 0;
        Instant began{};
        int status = 0;
        std::string content_type;
        std::string answer;
        std::size_t size = 0;  // of the whole answer
    };

    void answered();
    /// Compares the answer with the right one. If no right answer is known, an answer without an
    /// error is enough.
    void judge(ProofAnswer answer);
    /// True if the pool has a proof of its own; otherwise the model's example is the proof.
    [[nodiscard]] bool is_configured() const;
    [[nodiscard]] std::string_view name() const;
    /// Returns by what an answer is judged if none is recorded.
    [[nodiscard]] ProofBy judge_without_recording() const;
    [[nodiscard]] ProofAnswer answer() const;
    void fail(std::string why, std::string said = {});
    void end(const Judgement& judgement, ProofAnswer answer);

    Host host_;
    std::optional<ProofRequest> example_;
    bool has_check_ = false;  // the model checks its own answers
    UnderWay under_way_;
    std::uint32_t count_ = 0;  // proofs so far
    std::string out_;
    Alarm short_alarm_;
    Lifeline lifeline_;
};

}  // namespace turnpike
