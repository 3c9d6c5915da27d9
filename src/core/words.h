// The words that events, actions and states share: ids and closed lists. Every value says what it
// means.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/id.h"

namespace turnpike {

using JobId = Id<struct JobTag>;          // one request, from admission to its one answer
using AttemptId = Id<struct AttemptTag>;  // one try of one job on one worker
using WorkerId = Id<struct WorkerTag>;    // one start of one process
using LaneId = Id<struct LaneTag>;        // dense, over all pools
using PoolId = Id<struct PoolTag>;        // dense
using Ticket =
    Id<struct TicketTag>;  // the gate's own name for an arrival, handed back with the decision
using Generation = Id<struct GenerationTag>;  // a version of a pool's code and config; grows

/// 0 … 9; 9 goes first.
struct Priority {
    std::uint8_t level = 5;
    static constexpr std::uint8_t levels = 10;
    friend constexpr auto operator<=>(Priority, Priority) = default;
};

/// How an attempt ended, as its worker (or the link to it) tells.
enum class Verdict : std::uint8_t {
    answered,       // 1xx–3xx, or a native answer
    bad_input,      // the client's fault: 4xx, BadInput
    model_failed,   // 5xx, an exception
    non_finite,     // NaN or infinity in the answer
    out_of_memory,  // of the GPU; the worker lives and freed what it could
    unhealthy,    // the worker says that it can't go on (poisoned CUDA context, turnpike.Unhealthy)
    broken,       // the link broke, or what came was no answer
    undelivered,  // no link could be made: the worker never saw the job
    cancelled,    // ended because we asked
};

/// Why a job ended (or was never admitted). Each belongs to one Outcome.
enum class EndReason : std::uint8_t {
    answered,
    bad_input,
    model_failed,
    non_finite,
    out_of_memory,
    worker_died,      // retries are off, or it was an aside
    poison,           // two workers died under it while it was alone aboard
    stream_broken,    // the worker died after part of the answer had left
    deadline_passed,  // Turnpike-Timeout
    ran_too_long,     // job_timeout
    waited_too_long,  // queue.wait_max
    no_lane,          // no lane of the pool (or not the one asked for) can ever serve
    lane_unknown,     // the lane asked for is not one of the pool
    queue_full,       // queue.jobs_max
    bytes_full,       // queue.bytes_max
    arrivals_full,    // arriving_max
    body_failed,      // malformed, too large, too slow, or no room on disk
    aside_full,       // every serving lane has aside_max asides, or none serves now
    shutting_down,
    client_left,
    cancel_asked,
};

enum class Outcome : std::uint8_t { finished, failed, timed_out, cancelled, refused };

/// The outcome of an admitted job. What is never admitted is refused, whatever the reason.
[[nodiscard]] constexpr Outcome outcome_of(EndReason reason) {
    switch (reason) {
        case EndReason::answered:
        case EndReason::bad_input: return Outcome::finished;
        case EndReason::model_failed:
        case EndReason::non_finite:
        case EndReason::out_of_memory:
        case EndReason::worker_died:
        case EndReason::poison:
        case EndReason::stream_broken:
        case EndReason::no_lane:
        case EndReason::shutting_down: return Outcome::failed;
        case EndReason::deadline_passed:
        case EndReason::ran_too_long:
        case EndReason::waited_too_long: return Outcome::timed_out;
        case EndReason::client_left:
        case EndReason::cancel_asked: return Outcome::cancelled;
        case EndReason::lane_unknown:
        case EndReason::queue_full:
        case EndReason::bytes_full:
        case EndReason::arrivals_full:
        case EndReason::body_failed:
        case EndReason::aside_full: return Outcome::refused;
    }
    return Outcome::failed;
}

/// What people see of a lane; derived, never stored.
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

/// Why a lane or a worker is where it is.
enum class Reason : std::uint8_t {
    none,
    // of a worker's end
    exited,         // the process ended by itself
    load_silent,    // no progress for load_timeout
    misbehaved,     // broke the protocol
    unhealthy,      // said so
    not_answering,  // failed its probes
    proof_failed,   // a wrong answer
    proof_silent,   // no answer to its proof
    disagrees,      // outside the majority of its pool
    job_stuck,      // a job outlived job_timeout and cancel_grace
    job_cancelled,  // the cancel policy `kill`
    gpu_lost,
    will_not_die,  // survived the kill
    // of an order
    restart_asked,
    drain_asked,
    replaced,          // a newer generation took over
    reload_abandoned,  // its generation failed elsewhere
    shutting_down,
    // of a wait
    crashed_too_often,  // crash_limit
    worker_away,        // attached, and its health path does not answer
    memory_held,        // the old worker's memory is still taken
    turn_to_load,       // load_parallel
    failing_jobs,       // fail_streak
    link_doubted,       // a link broke; a probe decides
    proof_due,
};

/// What a proof showed. `grouped` is for pools that agree: the shell compares bytes, the engine
/// counts.
enum class ProofVerdict : std::uint8_t { passed, failed, grouped };

enum class ProbeVerdict : std::uint8_t { answered, silent, refused };

/// What a worker left on its GPU when its last process was gone.
enum class Memory : std::uint8_t { freed, held };

/// What to do with a running attempt whose client no longer wants it.
enum class CancelPolicy : std::uint8_t {
    finish,  // let it run to its end, drop the answer
    close,   // tell the worker: a cancel frame, or closing the connection
    kill,    // end the worker; it takes one job at once, whatever it says
};

enum class ProofKind : std::uint8_t {
    none,
    fixed,  // the shell knows the right answer
    agree,  // the lanes of one generation vote
};

/// How a newer generation comes.
enum class ReloadKind : std::uint8_t {
    beside,    // every lane starts its next worker while the old one serves
    in_place,  // a lane's old worker makes room first; one lane tries, then the rest
};

/// A pool's workers are started by us, or by somebody else.
enum class Ownership : std::uint8_t { owned, attached };

enum class ReloadEnd : std::uint8_t {
    spread,      // every lane that is on runs it
    abandoned,   // it did not load, or failed its proof: the old code serves on
    superseded,  // newer code was asked for before any worker served it
};

std::string_view name_of(Verdict);
std::string_view name_of(EndReason);
std::string_view name_of(Outcome);
std::string_view name_of(LaneState);
std::string_view name_of(Reason);
std::string_view name_of(ProofVerdict);
std::string_view name_of(ProbeVerdict);
std::string_view name_of(Memory);
std::string_view name_of(CancelPolicy);
std::string_view name_of(ProofKind);
std::string_view name_of(ReloadKind);
std::string_view name_of(Ownership);
std::string_view name_of(ReloadEnd);

}  // namespace turnpike
