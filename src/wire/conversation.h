// Whether a worker's frames are in turn: the gate's side of docs/worker-protocol.md, without the
// bytes. Told what the gate sends, it judges what comes back.
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

/// Of chunks, after `pause`: what may have been under way.
inline constexpr std::size_t after_pause_max = 8 * 1024 * 1024;

class Conversation {
public:
    // What the gate sent. A job's number is never used twice, and none goes out before `ready`.
    void sent(std::uint64_t job);
    void pinged(std::uint64_t number);
    void asked_stacks(std::uint64_t number);
    void paused(std::uint64_t job);  // one that has ended meanwhile is ignored; so with resumed()
    void resumed(std::uint64_t job);

    /// One call for each frame, in their order. A breach is final: nothing is judged after it.
    [[nodiscard]] Breach heard(const WorkerFrame& frame);

    [[nodiscard]] bool is_ready() const { return stage_ == Stage::ready; }
    /// Jobs sent that have not ended.
    [[nodiscard]] std::size_t jobs_aboard() const { return jobs_.size(); }

private:
    //  silent ──hello──▶ loading ──ready──▶ ready
    enum class Stage : std::uint8_t { silent, loading, ready };

    //  each job:  aboard ──begin──▶ streaming;  done and failed end it in either
    struct JobState {
        bool is_streaming = false;
        bool is_paused = false;
        std::size_t after_pause = 0;  // bytes
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
