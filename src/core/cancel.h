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

}  // namespace cancel
}  // namespace turnpike
