// Proofs of a native worker: the request of the pool's proof, or the model's own example, as a job of
// its own over the worker's link; the answer judged; the engine told.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

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
        std::function<std::shared_ptr<void>()>
            keep_alive;  // keeps the worker while something is waited for
    };
    explicit NativeProof(Host host) : host_(std::move(host)) {}

    /// What the model says that it can be proved with, where the pool has no proof of its own.
    void learn(const wire::Ready& frame);
    /// The worker is up.
    void begin(std::uint32_t number);
    /// Whether a frame of this id is of the one under way.
    [[nodiscard]] bool is_of(std::uint64_t id) const { return id == under_way_.id; }

    void hear(const wire::Begin& frame);
    void hear(const wire::Chunk& frame);
    void hear(const wire::Done& frame);
    void hear(const wire::Failed& frame);
    void hear(const wire::Progress&) {}
    /// Nothing more is sent or heard.
    void close() { under_way_ = {}; }

private:
    struct UnderWay {
        std::uint64_t id = 0;  // of its frames; 0: none
        std::uint32_t number = 0;
        Instant began{};
        int status = 0;
        std::string content_type;
        std::string answer;
        std::size_t size = 0;  // of all of it
    };

    void answered();
    /// By whoever knows the right answer; nobody: the model's example was answered without an error.
    void judge(ProofAnswer answer);
    /// Of its pool; else the model's example is the proof.
    [[nodiscard]] bool is_configured() const;
    [[nodiscard]] std::string_view name() const;
    [[nodiscard]] ProofBy without_judge() const;
    [[nodiscard]] ProofAnswer answer() const;
    void fail(std::string why);
    void end(const Judgement& judgement, ProofAnswer answer);

    Host host_;
    std::optional<ProofRequest> example_;
    bool has_check_ = false;  // the model looks at its answers itself
    UnderWay under_way_;
    std::uint32_t count_ = 0;  // so far
    std::string out_;
};

}  // namespace turnpike
