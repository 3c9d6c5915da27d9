// Everything that can happen to the engine, as values in the past tense.
//
// The shell may deliver an event late, twice, or about something that no longer exists; then the
// event changes nothing. Each event lists its fields once, for traces, hashes and logs.
#pragma once

#include <cstdint>
#include <variant>

#include "base/bytes.h"
#include "base/time.h"
#include "core/words.h"

namespace turnpike {

// ── from clients ─────────────────────────────────────────────────────────────────────────────────

/// What one client may have, whatever the others have.
struct ClientLimits {
    Priority priority_max;       // its jobs count as at most this level against those of others
    std::uint32_t jobs_max = 0;  // alive at once, in all pools; 0 means no limit
    Bytes bytes_max;             // of its live jobs; 0 means no limit
};

/// The gate read the head of a request. The engine answers in the same turn with AdmitJob or
/// RefuseJob, which carry the same ticket.
struct JobArrived {
    Ticket ticket;
    PoolId pool;
    ClientId client{0};  // less than clients_max
    ClientLimits limits;
    Bytes declared;  // Content-Length, or the bytes so far if the body is chunked
    Priority priority;
    Duration timeout = Duration::max();  // Turnpike-Timeout; counts from arrival
    LaneId lane_wanted;                  // Turnpike-Lane; none means any lane
    bool is_aside = false;               // a cheap request that takes no slot

    static constexpr const char* name = "JobArrived";
    void fields(auto&& f) const {
        f("ticket", ticket), f("pool", pool), f("client", client), f("declared", declared),
            f("priority", priority.level), f("priority_max", limits.priority_max.level);
        f("jobs_max", limits.jobs_max), f("bytes_max", limits.bytes_max), f("timeout", timeout),
            f("lane_wanted", lane_wanted), f("aside", is_aside);
    }
};

/// So many bytes of the body have come. Must be told for each further MiB: of an announced body the
/// engine counts at most `announced_max` before it has come. The total never shrinks.
struct BodyGrew {
    JobId job;
    Bytes total;

    static constexpr const char* name = "BodyGrew";
    void fields(auto&& f) const { f("job", job), f("total", total); }
};

struct BodyCompleted {
    JobId job;
    Bytes total;

    static constexpr const char* name = "BodyCompleted";
    void fields(auto&& f) const { f("job", job), f("total", total); }
};

/// The gate can't take the body: it is malformed, too large or too slow, or the disk is full.
struct BodyFailed {
    JobId job;

    static constexpr const char* name = "BodyFailed";
    void fields(auto&& f) const { f("job", job); }
};

/// The body so far shows that the job is for another pool: its `model` field names that pool. Valid
/// only while the job is arriving. The other pool may refuse the job.
struct JobRouted {
    JobId job;
    PoolId pool;

    static constexpr const char* name = "JobRouted";
    void fields(auto&& f) const { f("job", job), f("pool", pool); }
};

/// The answer to HashJob. May come after the job has ended.
struct JobHashed {
    JobId job;
    Digest digest;

    static constexpr const char* name = "JobHashed";
    void fields(auto&& f) const { f("job", job), f("high", digest.high), f("low", digest.low); }
};

/// The client left, or the gate has cut it off.
struct ClientLeft {
    JobId job;
    Departure why = Departure::left;

    static constexpr const char* name = "ClientLeft";
    void fields(auto&& f) const { f("job", job), f("why", why); }
};

struct CancelAsked {
    JobId job;

    static constexpr const char* name = "CancelAsked";
    void fields(auto&& f) const { f("job", job); }
};

/// The gate gives this number to another client from now on. Valid only while the client has no live
/// job.
struct ClientForgotten {
    ClientId client;

    static constexpr const char* name = "ClientForgotten";
    void fields(auto&& f) const { f("client", client); }
};

// ── from workers ─────────────────────────────────────────────────────────────────────────────────

/// The process exists. For an attached worker: probing has begun.
struct WorkerStarted {
    WorkerId worker;

    static constexpr const char* name = "WorkerStarted";
    void fields(auto&& f) const { f("worker", worker); }
};

/// The worker wrote a log line or reported progress while loading.
struct LoadProgressed {
    WorkerId worker;

    static constexpr const char* name = "LoadProgressed";
    void fields(auto&& f) const { f("worker", worker); }
};

/// The worker has loaded but is not proved yet. The numbers that it announces count from now on, up
/// to `slots_max` and `batch_max`. Under the cancel policy `kill` a worker takes one job at a time,
/// whatever it announces.
struct WorkerReady {
    WorkerId worker;
    std::uint32_t slots = 0;   // jobs (or batches) at once; 0 means the pool's number
    std::uint32_t batch = 0;   // jobs that may share a slot; 0 means the pool's number
    bool has_example = false;  // it can be proved even if its pool has no proof

    static constexpr const char* name = "WorkerReady";
    void fields(auto&& f) const {
        f("worker", worker), f("slots", slots), f("batch", batch), f("has_example", has_example);
    }
};

/// The worker's main process ended, or could not be started. For an attached worker: its links are
/// closed. WorkerGone follows when nothing of the process tree is left.
struct WorkerExited {
    WorkerId worker;
    ExitCause cause = ExitCause::worker;

    static constexpr const char* name = "WorkerExited";
    void fields(auto&& f) const { f("worker", worker), f("cause", cause); }
};

struct WorkerGone {
    WorkerId worker;
    Memory memory = Memory::freed;

    static constexpr const char* name = "WorkerGone";
    void fields(auto&& f) const { f("worker", worker), f("memory", memory); }
};

/// The worker violated the protocol of its link.
struct WorkerMisbehaved {
    WorkerId worker;

    static constexpr const char* name = "WorkerMisbehaved";
    void fields(auto&& f) const { f("worker", worker); }
};

/// The first byte of the answer went to the client. From now on the job can't be retried.
struct AnswerBegun {
    WorkerId worker;
    AttemptId attempt;

    static constexpr const char* name = "AnswerBegun";
    void fields(auto&& f) const { f("worker", worker), f("attempt", attempt); }
};

/// More of the answer came, or a progress report, which may also come before AnswerBegun. Restarts
/// job_timeout. The shell sends this event now and then, not for each byte.
struct AnswerMoved {
    WorkerId worker;
    AttemptId attempt;

    static constexpr const char* name = "AnswerMoved";
    void fields(auto&& f) const { f("worker", worker), f("attempt", attempt); }
};

struct AttemptEnded {
    WorkerId worker;
    AttemptId attempt;
    Verdict verdict = Verdict::answered;

    static constexpr const char* name = "AttemptEnded";
    void fields(auto&& f) const {
        f("worker", worker), f("attempt", attempt), f("verdict", verdict);
    }
};

struct ProbeEnded {
    WorkerId worker;
    std::uint32_t probe = 0;  // the number that ProbeWorker carried
    ProbeVerdict verdict = ProbeVerdict::answered;

    static constexpr const char* name = "ProbeEnded";
    void fields(auto&& f) const { f("worker", worker), f("probe", probe), f("verdict", verdict); }
};

struct ProofEnded {
    WorkerId worker;
    std::uint32_t proof = 0;  // the number that ProveWorker carried
    ProofVerdict verdict = ProofVerdict::passed;
    std::uint32_t group = 0;  // with `grouped`: the number of the group of equal answers

    static constexpr const char* name = "ProofEnded";
    void fields(auto&& f) const {
        f("worker", worker), f("proof", proof), f("verdict", verdict), f("group", group);
    }
};

// ── from the machine ─────────────────────────────────────────────────────────────────────────────

/// The GPU memory that a lane's dead worker still held is free now.
struct MemoryFreed {
    LaneId lane;

    static constexpr const char* name = "MemoryFreed";
    void fields(auto&& f) const { f("lane", lane); }
};

struct GpuLost {
    LaneId lane;

    static constexpr const char* name = "GpuLost";
    void fields(auto&& f) const { f("lane", lane); }
};

// ── from the operator ────────────────────────────────────────────────────────────────────────────

/// Always the first event. Every lane starts.
struct GateOpened {
    static constexpr const char* name = "GateOpened";
    void fields(auto&&) const {}
};

struct DrainAsked {
    LaneId lane;

    static constexpr const char* name = "DrainAsked";
    void fields(auto&& f) const { f("lane", lane); }
};

/// Turns a drained lane on again.
struct ResumeAsked {
    LaneId lane;

    static constexpr const char* name = "ResumeAsked";
    void fields(auto&& f) const { f("lane", lane); }
};

/// Lets the lane's jobs finish, then starts a new worker. A second request meanwhile restarts the
/// lane at once. Also turns on a lane that is off, whatever the cause.
struct RestartAsked {
    LaneId lane;

    static constexpr const char* name = "RestartAsked";
    void fields(auto&& f) const { f("lane", lane); }
};

/// The shell has a newer generation. The kind says whether there is memory for it beside the old
/// one. A newer request replaces this one if no worker serves this generation yet; otherwise the
/// newer request waits until this reload is over.
struct ReloadAsked {
    PoolId pool;
    Generation generation;
    ReloadKind kind = ReloadKind::beside;

    static constexpr const char* name = "ReloadAsked";
    void fields(auto&& f) const { f("pool", pool), f("generation", generation), f("kind", kind); }
};

/// Every lane of the pool must pass its proof again, one lane at a time.
struct ProveAsked {
    PoolId pool;

    static constexpr const char* name = "ProveAsked";
    void fields(auto&& f) const { f("pool", pool); }
};

/// The engine admits nothing more. Admitted jobs have `patience` to finish. A second request counts
/// only if its deadline is earlier.
struct ShutdownAsked {
    Duration patience = Duration::zero();

    static constexpr const char* name = "ShutdownAsked";
    void fields(auto&& f) const { f("patience", patience); }
};

/// The time of next_deadline() has come.
struct TimePassed {
    static constexpr const char* name = "TimePassed";
    void fields(auto&&) const {}
};

using Event =
    std::variant<JobArrived, BodyGrew, BodyCompleted, BodyFailed, JobRouted, JobHashed, ClientLeft,
                 CancelAsked, ClientForgotten, WorkerStarted, LoadProgressed, WorkerReady,
                 WorkerExited, WorkerGone, WorkerMisbehaved, AnswerBegun, AnswerMoved, AttemptEnded,
                 ProbeEnded, ProofEnded, MemoryFreed, GpuLost, GateOpened, DrainAsked, ResumeAsked,
                 RestartAsked, ReloadAsked, ProveAsked, ShutdownAsked, TimePassed>;

}  // namespace turnpike
