// An attempt: one try of one job on one worker. It stays *aboard* the worker until the worker is
// really done with it, even if nobody waits for the answer any more.
//
//   running ─▶ abandoned ─▶ expired ─▶ overdue
//       └──────────────────────▲
//
// An attempt may end in every state, by AttemptEnded or by the worker's death.
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
    abandoned,  // no job waits for it
    expired,    // its time is over, cancel_grace has begun
    overdue,    // cancel_grace is over, too: its worker is stuck
};

struct Attempt {
    static constexpr std::uint32_t no_slot = ~std::uint32_t{0};  // for asides

    AttemptId id;
    JobId job;  // none once abandoned
    ClientId client;
    bool is_pinned = false;  // its job asked for this lane
    Worker* worker = nullptr;
    AttemptState state = AttemptState::running;
    bool was_cancel_sent = false;
    bool was_in_shared_break = false;  // was aboard when the link of another attempt broke
    bool has_begun = false;            // part of its answer went to the client
    bool is_closed = false;  // its exchange is closed; it ends when a later probe is answered
    bool expired_unawaited = false;     // it expired because nobody waited for anything aboard
    std::uint32_t closed_at_probe = 0;  // the latest probe that was sent before the close
    std::uint32_t slot = no_slot;
    std::uint32_t batch_size = 1;
    Instant sent;
    Instant renewed;                // job_timeout counts from here
    Instant slow_check_at = never;  // the next check for slowness; never once it is reported
    Links<Attempt> links;
    Timer timer;

    [[nodiscard]] bool is_aside() const { return slot == no_slot; }
    /// True if its job waits for the answer. Asides don't count: they are cheap, and would keep a hung
    /// worker.
    [[nodiscard]] bool is_awaited() const { return state == AttemptState::running && !is_aside(); }
    /// True if nobody waits for it, and its worker may still be at work on it.
    [[nodiscard]] bool is_unawaited() const {
        return state == AttemptState::abandoned && !is_closed;
    }
};

namespace attempt {

/// Fills one slot of the lane's current worker with a batch of the next jobs. The lane must be able
/// to take jobs. Returns false, and sends nothing, if none of them may go: those that must ride alone
/// stay queued.
bool send_next(State& s, Lane& lane);

/// Sends a single job: one that must ride alone, or an aside, which takes no slot.
void send_alone(State& s, Lane& lane, Job& job);

void begun(State& s, const AnswerBegun& event);
void moved(State& s, const AnswerMoved& event);
void ended(State& s, const AttemptEnded& event);

/// Checks what is due: slowness, job_timeout or cancel_grace.
void time_is_up(State& s, Attempt& attempt);

/// Ends the closed attempts of a worker that answered this probe: it is done with them.
void probe_answered(State& s, Worker& worker, std::uint32_t probe);

/// Takes the attempt off its worker. The caller must deal with its job, if the job still lives.
void release(State& s, Attempt& attempt);

}  // namespace attempt
}  // namespace turnpike
