// Proofs of a native worker: the request of the pool's proof, or the model's own example, as a job of
// its own over the worker's link; the answer judged; the engine told.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/frame_link.h"
#include "supervisor/lane_worker.h"
#include "supervisor/proof_check.h"
#include "supervisor/worker_process.h"
#include "wire/conversation.h"
#include "wire/frame.h"

namespace turnpike {

class NativeProof {
public:
    struct Host {
        WorkerSurroundings& around;
        WorkerProcess& process;
        const StartedLane& lane;
        FrameLink& link;
        wire::Conversation& conversation;
        std::function<std::shared_ptr<void>()>
            stays;  // keeps the worker while something is waited for
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
    struct Example {
        std::string content_type;
        std::string body;
    };
    struct UnderWay {
        std::uint64_t id = 0;  // of its frames; 0: none
        std::uint32_t number = 0;
        Instant began{};
        int status = 0;
        std::string answer;
    };

    void answered();
    void judged(const Judgement& judgement);
    /// Of its pool; else the model's example is the proof.
    [[nodiscard]] bool is_configured() const;
    [[nodiscard]] std::string_view name() const;
    void end(ProofVerdict verdict, std::uint32_t group = 0);

    Host host_;
    std::optional<Example> example_;
    UnderWay under_way_;
    std::uint32_t count_ = 0;  // so far
    std::string out_;
};

}  // namespace turnpike
