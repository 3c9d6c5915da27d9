// Cancelling: what becomes of an attempt that nobody waits for, or that has run out of time.
#pragma once

namespace turnpike {

struct State;
struct Attempt;
struct Worker;

namespace cancel {

/// Its job has ended: the lane's policy decides whether the worker is told, killed, or left to
/// finish.
void abandon(State& s, Attempt& attempt);

/// job_timeout: its job ends, the worker is told, cancel_grace begins.
void expire(State& s, Attempt& attempt);

/// cancel_grace is over: the worker is stuck. It is killed when nothing else is aboard that may
/// still finish.
void grace_is_over(State& s, Attempt& attempt);

/// An overdue attempt is over after all: the last one sets its worker free.
void overdue_ended(State& s, Worker& worker);

}  // namespace cancel
}  // namespace turnpike
