// A worker that speaks frames over an inherited socket (docs/worker-protocol.md): a model in Python
// or C++, in its own process under a guard.
//
//   starting ─hello─▶ loading ─ready─▶ up ─▶ over
//
// A worker that breaks the protocol is ended, and its lane shows why. It can't harm the gate.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "supervisor/native/frame_link.h"
#include "supervisor/native/native_attempts.h"
#include "supervisor/native/native_proof.h"
#include "supervisor/process/worker_process.h"
#include "supervisor/worker/lane_worker.h"
#include "wire/conversation.h"

namespace turnpike {

/// Frames that belong to a job or to a proof.
template <class Frame>
concept AnswerFrame = std::same_as<Frame, wire::Progress> || std::same_as<Frame, wire::Begin> ||
                      std::same_as<Frame, wire::Chunk> || std::same_as<Frame, wire::Done> ||
                      std::same_as<Frame, wire::Failed>;

class NativeWorker final : public LaneWorker, private ProcessUser, private FrameLinkUser {
public:
    NativeWorker(WorkerDeps& deps, ProcessDeps& process_deps, const StartWorker& start,
                 const StartedLane& lane);

    void start() override;
    void send(const SendJob& action) override;
    void cancel(AttemptId attempt) override { attempts_.cancel(attempt); }
    void probe(std::uint32_t number) override;
    void prove(std::uint32_t number) override;
    void stop(Reason why) override;
    void kill(Reason why) override;
    [[nodiscard]] bool is_gone() const override { return process_.is_gone(); }
    [[nodiscard]] std::size_t exchanges_held() const override { return attempts_.aboard().size(); }
    void process_printed() override;
    bool ask_stacks(AttemptId attempt) override;
    [[nodiscard]] WorkerProcess* process() override { return &process_; }

private:
    enum class State : std::uint8_t { starting, loading, up, over };

    /// The request for stacks that is under way, and the attempts that it is for.
    struct StacksAsked {
        std::uint64_t number = 0;  // 0 if none is under way
        std::vector<AttemptId> attempts;
    };

    void process_started() override;
    [[nodiscard]] std::vector<ExchangePtr> suspects() const override { return attempts_.aboard(); }
    void process_exited(const Trouble& end) override;
    void process_gone() override;

    bool heard(const wire::WorkerFrame& frame) override;
    void link_broke(wire::Breach breach, std::uint8_t kind) override;
    void could_not_receive() override;

    void hear(const wire::Hello& frame);
    void hear(const wire::Loading& frame);
    void hear(const wire::Ready& frame);
    void hear(const wire::Pong& frame);
    void hear(const wire::Log& frame);
    void hear(const wire::Stacks& frame);
    template <AnswerFrame Frame>
    void hear(const Frame& frame);

    void misbehaved(const std::string& how);
    void tell(const wire::GateFrame& frame);
    [[nodiscard]] WorkerFacts& facts() { return process_.facts(); }

    WorkerDeps& deps_;
    ProcessDeps& process_deps_;
    const WorkerId worker_;
    const LaneId lane_;
    const Generation generation_;
    const StartedLane started_lane_;
    State state_ = State::starting;
    WorkerProcess process_;
    Alarm hello_alarm_;
    FrameLink link_;
    wire::Conversation conversation_;
    NativeAttempts attempts_;
    NativeProof proof_;
    Instant imported_at_ = never;
    std::optional<std::uint32_t> probed_;  // the probe that is not answered yet
    StacksAsked stacks_;
    std::uint64_t stacks_asked_ = 0;  // requests for stacks so far
    std::string out_;
};

}  // namespace turnpike
