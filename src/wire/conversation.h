// Checks that a worker's frames come in an allowed order: the gate's side of
// docs/worker-protocol.md, without the bytes. The caller reports each frame that the gate sends and
// each that it receives.
//
//     conversation.sent(job.id);                                       // as the frame goes out
//     if (const Breach breach = conversation.heard(frame); breach != Breach::none) …
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/breach.h"
#include "wire/frame.h"
#include "wire/numbered.h"

namespace turnpike::wire {

/// How many bytes of chunks may still come after `pause`, because they were already on their way.
inline constexpr std::size_t after_pause_max = 8 * 1024 * 1024;

class Conversation {
public:
    // Report what the gate has sent. A job's number must never be used twice, and no job may be
    // sent before `ready`.
    void sent(std::uint64_t job);
    void pinged(std::uint64_t number);
    void asked_stacks(std::uint64_t number);
    // These two ignore a job that has already ended.
    void paused(std::uint64_t job);
    void resumed(std::uint64_t job);

    /// Must be called once for each frame of the worker, in order. After a breach, returns that
    /// breach for every further frame.
    [[nodiscard]] Breach heard(const WorkerFrame& frame);

    [[nodiscard]] bool is_ready() const { return stage_ == Stage::ready; }
    /// Returns how many jobs were sent and have not ended.
    [[nodiscard]] std::size_t jobs_aboard() const { return jobs_.size(); }

private:
    //  States of the worker:  silent ──hello──▶ loading ──ready──▶ ready
    enum class Stage : std::uint8_t { silent, loading, ready };

    //  States of a job:  aboard ──begin──▶ streaming;  done and failed end it in both states
    struct JobState {
        bool is_streaming = false;
        bool is_paused = false;
        std::size_t after_pause = 0;  // bytes of chunks since the pause
    };
    struct Nothing {};

    Breach judge(const Hello&);
    Breach judge(const Loading&);
    Breach judge(const Ready&);
    Breach judge(const Progress&);
    Breach judge(const Begin&);
    Breach judge(const Chunk&);
    Breach judge(const Done&);
    Breach judge(const Failed&);
    Breach judge(const Pong&);
    Breach judge(const Log&);
    Breach judge(const Stacks&);

    Stage stage_ = Stage::silent;
    Breach breach_ = Breach::none;
    Numbered<JobState> jobs_;
    Numbered<Nothing> pings_;   // not answered yet
    Numbered<Nothing> stacks_;  // not answered yet
};

}  // namespace turnpike::wire
