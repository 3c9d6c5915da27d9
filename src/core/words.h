// The words that events, actions and states share: ids and enums, with the meaning of every value.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/id.h"

namespace turnpike {

using JobId = Id<struct JobTag>;          // one request, from admission to its one answer
using AttemptId = Id<struct AttemptTag>;  // one try of one job on one worker
using WorkerId = Id<struct WorkerTag>;    // one start of one process
using LaneId = Id<struct LaneTag>;        // counts from 0 over all pools
using PoolId = Id<struct PoolTag>;        // counts from 0
using CaseId = Id<struct CaseTag>;        // one death of a worker under jobs
using ClientId = Id<struct ClientTag>;    // who sends jobs: an API key, else an address; dense
using Ticket =
    Id<struct TicketTag>;  // the gate's name for an arrival; AdmitJob or RefuseJob carries it back
using Generation = Id<struct GenerationTag>;  // a version of a pool's code and config; it increases

/// A level from 0 to 9. Jobs of level 9 go first.
struct Priority {
    std::uint8_t level = 5;
    static constexpr std::uint8_t levels = 10;
    friend constexpr auto operator<=>(Priority, Priority) = default;
};

/// Says whether two jobs are the same request: method, target, content type and encoding, and body.
struct Digest {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    friend constexpr bool operator==(const Digest&, const Digest&) = default;
};

/// How an attempt ended, as reported by its worker or by the link to the worker.
enum class Verdict : std::uint8_t {
    answered,       // 1xx–3xx, or a native answer
    bad_input,      // the client's fault: 4xx, BadInput
    model_failed,   // 5xx, an exception
    non_finite,     // NaN or infinity in the answer
    out_of_memory,  // on the GPU; the worker lives and has freed what it could
    unhealthy,    // the worker says that it can't go on (poisoned CUDA context, turnpike.Unhealthy)
    broken,       // the link broke, or the bytes on it were not an answer
    undelivered,  // no link could be opened; the worker never saw the job
    cancelled,    // ended because we asked; the worker is done with it
    closed,       // we closed the exchange; nobody knows yet whether the worker is done with it
    stale,     // a reused connection ended before any byte of an answer; the worker has not exited
    shortage,  // the gate lacked descriptors or memory to send the job or to take its answer
};

/// Why a job ended, or why it was not admitted. Each reason belongs to one Outcome.
enum class EndReason : std::uint8_t {
    answered,
    bad_input,
    model_failed,
    non_finite,
    out_of_memory,
    worker_died,      // the job may not be retried: retries are off, or it was an aside
    poison,           // two workers died while the job was alone on them
    known_poison,     // equal to a job that was poison a short while ago; it was not run
    stream_broken,    // the worker died after part of the answer had gone to the client
    deadline_passed,  // Turnpike-Timeout
    ran_too_long,     // job_timeout
    waited_too_long,  // queue.wait_max
    no_lane,          // no lane that the job may use can ever serve again
    lane_unknown,     // the lane that the job asks for does not belong to the pool
    queue_full,       // queue.jobs_max
    bytes_full,       // queue.bytes_max
    arrivals_full,    // arriving_max
    lane_queue_full,  // as many jobs as allowed wait for the lane that the job asks for
    client_limit,     // the client has as many jobs or bytes as it may have
    crowded_out,      // its upload was ended to make room for the body of another job
    body_failed,      // the body was malformed, too large or too slow, or the disk was full
    shortage,         // the gate lacked descriptors or memory for the job while it ran
    aside_full,       // every serving lane has aside_max asides, or no lane serves now
    rate_exceeded,  // the client's key has a rate; the gate refuses, and the engine never hears of it
    shutting_down,
    client_left,
    cancel_asked,
    client_too_slow,  // it read its answer more slowly than gate.answer_rate_min
    answers_full,     // cut off to make room: gate.answers_max
    answer_lost,      // our own disk has lost a part of the answer
};

enum class Outcome : std::uint8_t { finished, failed, timed_out, cancelled, refused };

/// Returns the outcome of an admitted job. A job that was not admitted is always `refused`.
[[nodiscard]] constexpr Outcome outcome_of(EndReason reason) {
    switch (reason) {
        case EndReason::answered:
        case EndReason::bad_input: return Outcome::finished;
        case EndReason::model_failed:
        case EndReason::non_finite:
        case EndReason::out_of_memory:
        case EndReason::worker_died:
        case EndReason::poison:
        case EndReason::known_poison:
        case EndReason::stream_broken:
        case EndReason::no_lane:
        case EndReason::shortage:
        case EndReason::shutting_down:
        case EndReason::answer_lost: return Outcome::failed;
        case EndReason::deadline_passed:
        case EndReason::ran_too_long:
        case EndReason::waited_too_long: return Outcome::timed_out;
        case EndReason::client_left:
        case EndReason::cancel_asked:
        case EndReason::client_too_slow:
        case EndReason::answers_full: return Outcome::cancelled;
        case EndReason::lane_unknown:
        case EndReason::queue_full:
        case EndReason::bytes_full:
        case EndReason::arrivals_full:
        case EndReason::lane_queue_full:
        case EndReason::client_limit:
        case EndReason::crowded_out:
        case EndReason::body_failed:
        case EndReason::aside_full:
        case EndReason::rate_exceeded: return Outcome::refused;
    }
    return Outcome::failed;
}

/// Why nobody takes a job's answer any more. Except for `left`, the gate closed the connection.
enum class Departure : std::uint8_t { left, too_slow, answers_full, answer_lost };

[[nodiscard]] constexpr EndReason reason_of(Departure why) {
    switch (why) {
        case Departure::left: return EndReason::client_left;
        case Departure::too_slow: return EndReason::client_too_slow;
        case Departure::answers_full: return EndReason::answers_full;
        case Departure::answer_lost: return EndReason::answer_lost;
    }
    return EndReason::client_left;
}

/// True if the reason may be gone after a while, so that it makes sense to send the job again.
[[nodiscard]] constexpr bool can_pass(EndReason reason) {
    switch (reason) {
        case EndReason::waited_too_long:
        case EndReason::no_lane:
        case EndReason::queue_full:
        case EndReason::bytes_full:
        case EndReason::arrivals_full:
        case EndReason::lane_queue_full:
        case EndReason::client_limit:
        case EndReason::crowded_out:
        case EndReason::aside_full:
        case EndReason::shortage:
        case EndReason::rate_exceeded:
        case EndReason::shutting_down: return true;
        case EndReason::answered:
        case EndReason::bad_input:
        case EndReason::model_failed:
        case EndReason::non_finite:
        case EndReason::out_of_memory:
        case EndReason::worker_died:
        case EndReason::poison:
        case EndReason::known_poison:
        case EndReason::stream_broken:
        case EndReason::deadline_passed:
        case EndReason::ran_too_long:
        case EndReason::lane_unknown:
        case EndReason::body_failed:
        case EndReason::client_left:
        case EndReason::cancel_asked:
        case EndReason::client_too_slow:
        case EndReason::answers_full:
        case EndReason::answer_lost: return false;
    }
    return false;
}

/// What people see of a lane. The engine derives it on demand and never stores it.
enum class LaneState : std::uint8_t {
    starting,
    loading,
    proving,
    ready,
    busy,
    draining,
    drained,
    backoff,
    failed,
    quarantined,
};

/// Why a lane or a worker is in its state.
enum class Reason : std::uint8_t {
    none,
    // why a worker ended
    exited,         // the process ended by itself
    load_silent,    // no progress for load_timeout
    misbehaved,     // broke the protocol
    unhealthy,      // the worker said that it can't go on
    not_answering,  // failed its probes
    proof_failed,   // a wrong answer
    proof_silent,   // no answer to the proof within proof_timeout
    disagrees,      // its answer differs from the majority of its pool
    job_stuck,      // a job outlived job_timeout and cancel_grace
    job_abandoned,  // nobody waited for anything aboard, and the worker did not end it
    job_cancelled,  // the cancel policy `kill`
    trying_again,   // the lane had crashed too often; its worker starts once more
    gpu_lost,
    will_not_die,  // survived the kill
    shortage,      // it could not be started: the gate or the machine is short of something
    // what somebody ordered
    restart_asked,
    drain_asked,
    replaced,          // a newer generation took over
    reload_abandoned,  // its generation failed on another lane
    shutting_down,
    // why a lane waits
    crashed_too_often,  // crash_limit
    worker_away,        // an attached worker whose health path does not answer
    memory_held,        // the old worker's GPU memory is not free yet
    turn_to_load,       // load_parallel
    failing_jobs,       // fail_streak
    link_doubted,       // a link broke; a probe will show whether the worker lives
    proof_due,
};

/// The result of a proof. `grouped` is for pools with ProofKind::agree: the shell groups equal
/// answers, the engine counts the votes.
enum class ProofVerdict : std::uint8_t {
    passed,
    failed,
    grouped,   // the answer is compared with those of other lanes
    not_sent,  // the gate was short of something and tries again; this says nothing about the worker
};

enum class ProbeVerdict : std::uint8_t {
    answered,
    silent,
    refused,
    not_sent,  // the gate was short of descriptors; this says nothing about the worker
};

/// Why a worker exited, or could not be started.
enum class ExitCause : std::uint8_t {
    worker,    // it ended by itself or by order, or its program can't be run
    shortage,  // it was not started: the gate or the machine lacks descriptors, memory or processes
};

/// Whether a worker's GPU memory was free when its last process was gone.
enum class Memory : std::uint8_t { freed, held };

/// What to do with a running attempt when its client no longer wants the answer.
enum class CancelPolicy : std::uint8_t {
    finish,  // let it run to its end and drop the answer
    close,   // tell the worker, by a cancel frame or by closing the connection
    kill,    // kill the worker; such a worker takes one job at a time, whatever it announces
};

enum class ProofKind : std::uint8_t {
    none,
    fixed,  // the shell knows the right answer
    agree,  // the lanes of one generation vote on the right answer
};

/// How a newer generation replaces the old one.
enum class ReloadKind : std::uint8_t {
    beside,    // every lane starts its next worker while the old one serves
    in_place,  // a lane's old worker stops first; one lane tries, then the others follow
};

/// Who starts the workers of a pool: we (`owned`) or somebody else (`attached`).
enum class Ownership : std::uint8_t { owned, attached };

enum class ReloadEnd : std::uint8_t {
    spread,      // every lane that is on runs the new generation
    abandoned,   // it did not load or failed its proof; the old code keeps serving
    superseded,  // newer code was requested before any worker served this one
};

std::string_view name_of(Verdict);
std::string_view name_of(EndReason);
std::string_view name_of(Outcome);
std::string_view name_of(Departure);
std::string_view name_of(LaneState);
std::string_view name_of(Reason);
std::string_view name_of(ProofVerdict);
std::string_view name_of(ProbeVerdict);
std::string_view name_of(ExitCause);
std::string_view name_of(Memory);
std::string_view name_of(CancelPolicy);
std::string_view name_of(ProofKind);
std::string_view name_of(ReloadKind);
std::string_view name_of(Ownership);
std::string_view name_of(ReloadEnd);

}  // namespace turnpike
