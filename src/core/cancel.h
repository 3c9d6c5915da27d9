// Cancelling: what becomes of an attempt that nobody waits for, or that has run for too long.
#pragma once

namespace turnpike {

struct State;
struct Attempt;
struct Worker;

namespace cancel {

/// Must be called when the job of a running attempt ends. The pool's cancel policy decides whether
/// the worker is told, killed, or left to finish.
void abandon(State& s, Attempt& attempt);

/// Applies job_timeout: ends the job, applies the cancel policy, and starts cancel_grace.
void expire(State& s, Attempt& attempt);

/// Marks the attempt as overdue after cancel_grace: the worker is stuck. The worker is killed when
/// no attempt aboard can still finish.
void grace_is_over(State& s, Attempt& attempt);

/// Must be called when an overdue attempt ends after all. After the last one the worker may serve
/// again.
void overdue_ended(State& s, Worker& worker);

/// Keeps the attempt aboard until the worker answers a probe: its exchange is closed, but nobody knows
/// whether the worker is done with it.
void closed(State& s, Attempt& attempt);

/// Starts or stops the clock of a worker that nobody waits for. Must be called when an attempt
/// leaves or loses its job.
void update_abandon_clock(State& s, Worker& worker);

/// Starts cancel_grace for all abandoned attempts aboard, because that clock has run out.
void abandoned_too_long(State& s, Worker& worker);

}  // namespace cancel
}  // namespace turnpike
