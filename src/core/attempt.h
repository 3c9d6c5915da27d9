// An attempt: one try of one job on one worker. It takes its place aboard until the worker is
// really done with it, also when nobody waits for the answer any more.
//
//   running ─▶ abandoned ─▶ expired ─▶ overdue
//       └──────────────────────▲
//
// Each may end at any time: by AttemptEnded, or by the worker's death.
#pragma once

#include <cstdint>

#include "base/list.h"
#include "base/time.h"
#include "core/timers.h"
#include "core/words.h"

namespace turnpike {

struct State;
struct Job;
struct Lane;
struct Worker;
struct AnswerBegun;
struct AnswerMoved;
struct AttemptEnded;

enum class AttemptState : std::uint8_t {
    running,    // its job waits for the answer
    abandoned,  // nobody does
    expired,    // past job_timeout; cancel_grace runs
    overdue,    // past that, too: its worker is stuck
};

struct Attempt {
    static constexpr std::uint32_t no_slot = ~std::uint32_t{0};  // asides

    AttemptId id;
    JobId job;  // none once abandoned
    Worker* worker = nullptr;
    AttemptState state = AttemptState::running;
    bool was_cancel_sent = false;      // CancelAttempt was sent
    bool was_in_shared_break = false;  // was aboard when a neighbour's link broke
    std::uint32_t slot = no_slot;
    std::uint32_t batch_size = 1;
    Instant sent;
    Instant renewed;                // job_timeout counts from here
    Instant slow_check_at = never;  // whether it is slow; never: it was reported
    Links<Attempt> links;
    Timer timer;

    [[nodiscard]] bool is_aside() const { return slot == no_slot; }
};

namespace attempt {

/// Fills one slot of the lane's current worker with up to a batch of its next jobs. The lane takes
/// jobs.
void send_next(State& s, Lane& lane);

/// Sends one job by itself: a lone rider, or an aside (no slot).
void send_alone(State& s, Lane& lane, Job& job);

void begun(State& s, const AnswerBegun& event);
void moved(State& s, const AnswerMoved& event);
void ended(State& s, const AttemptEnded& event);

/// Slow, job_timeout or cancel_grace.
void time_is_up(State& s, Attempt& attempt);

/// Takes it off its worker. Its job, if any, is the caller's business.
void release(State& s, Attempt& attempt);

}  // namespace attempt
}  // namespace turnpike
