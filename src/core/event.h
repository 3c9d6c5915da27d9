// Everything that can happen to the engine, as values in the past tense.
//
// The shell may deliver an event late, twice, or about something that is gone: such an event
// changes nothing. Each event lists its fields once, for traces, hashes and logs.
#pragma once

#include <cstdint>
#include <variant>

#include "base/bytes.h"
#include "base/time.h"
#include "core/words.h"

namespace turnpike {

// ── of clients ───────────────────────────────────────────────────────────────────────────────────

/// A head was read. Answered in the same turn by AdmitJob or RefuseJob with the same ticket.
struct JobArrived {
    Ticket ticket;
    PoolId pool;
    Bytes declared;  // Content-Length; chunked: what is known so far
    Priority priority;
    Duration timeout = Duration::max();  // Turnpike-Timeout; counts from arrival
    LaneId lane_wanted;                  // Turnpike-Lane; none: any
    bool is_aside = false;

    static constexpr const char* name = "JobArrived";
    void fields(auto&& f) const {
        f("ticket", ticket), f("pool", pool), f("declared", declared),
            f("priority", priority.level);
        f("timeout", timeout), f("lane_wanted", lane_wanted), f("aside", is_aside);
    }
};

/// A chunked body reached another MiB. Totals only grow.
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

/// The body can't be taken: it is malformed, too large or too slow, or there is no room on disk.
struct BodyFailed {
    JobId job;

    static constexpr const char* name = "BodyFailed";
    void fields(auto&& f) const { f("job", job); }
};

/// What came of the body tells that the job is for another pool (its `model` names it). Only while
/// it arrives; that pool may refuse it.
struct JobRouted {
    JobId job;
    PoolId pool;

    static constexpr const char* name = "JobRouted";
    void fields(auto&& f) const { f("job", job), f("pool", pool); }
};

struct ClientLeft {
    JobId job;

    static constexpr const char* name = "ClientLeft";
    void fields(auto&& f) const { f("job", job); }
};

struct CancelAsked {
    JobId job;

    static constexpr const char* name = "CancelAsked";
    void fields(auto&& f) const { f("job", job); }
};

// ── of workers ───────────────────────────────────────────────────────────────────────────────────

/// The process exists (attached: probing began).
struct WorkerStarted {
    WorkerId worker;

    static constexpr const char* name = "WorkerStarted";
    void fields(auto&& f) const { f("worker", worker); }
};

/// A log line or a progress report while loading.
struct LoadProgressed {
    WorkerId worker;

    static constexpr const char* name = "LoadProgressed";
    void fields(auto&& f) const { f("worker", worker); }
};

/// Loaded. Not yet proved. What it says of itself counts from now on, within `slots_max` and
/// `batch_max`; with the cancel policy `kill` a worker takes one job, whatever it says.
struct WorkerReady {
    WorkerId worker;
    std::uint32_t slots = 0;   // what it takes at once; 0: as its pool says
    std::uint32_t batch = 0;   // jobs that may share a slot; 0: as its pool says
    bool has_example = false;  // it can be proved although its pool has no proof

    static constexpr const char* name = "WorkerReady";
    void fields(auto&& f) const {
        f("worker", worker), f("slots", slots), f("batch", batch), f("has_example", has_example);
    }
};

/// The worker's main process ended, or could not be started; an attached worker's links are closed.
/// WorkerGone follows when nothing of its process tree is left.
struct WorkerExited {
    WorkerId worker;

    static constexpr const char* name = "WorkerExited";
    void fields(auto&& f) const { f("worker", worker); }
};

struct WorkerGone {
    WorkerId worker;
    Memory memory = Memory::freed;

    static constexpr const char* name = "WorkerGone";
    void fields(auto&& f) const { f("worker", worker), f("memory", memory); }
};

/// The worker broke the protocol of its link.
struct WorkerMisbehaved {
    WorkerId worker;

    static constexpr const char* name = "WorkerMisbehaved";
    void fields(auto&& f) const { f("worker", worker); }
};

/// The first byte of the answer went to the client: from now on the attempt can't be repeated.
struct AnswerBegun {
    WorkerId worker;
    AttemptId attempt;

    static constexpr const char* name = "AnswerBegun";
    void fields(auto&& f) const { f("worker", worker), f("attempt", attempt); }
};

/// More of the answer came, or word of its progress, also before AnswerBegun: renews job_timeout.
/// The shell sends it now and then, not for each byte.
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
    std::uint32_t probe = 0;  // the number in ProbeWorker
    ProbeVerdict verdict = ProbeVerdict::answered;

    static constexpr const char* name = "ProbeEnded";
    void fields(auto&& f) const { f("worker", worker), f("probe", probe), f("verdict", verdict); }
};

struct ProofEnded {
    WorkerId worker;
    std::uint32_t proof = 0;  // the number in ProveWorker
    ProofVerdict verdict = ProofVerdict::passed;
    std::uint32_t group = 0;  // with `grouped`: which of the generation's answers this one equals

    static constexpr const char* name = "ProofEnded";
    void fields(auto&& f) const {
        f("worker", worker), f("proof", proof), f("verdict", verdict), f("group", group);
    }
};

// ── of the machine ───────────────────────────────────────────────────────────────────────────────

/// What a lane's dead worker held on the GPU is free now.
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

// ── of the operator ──────────────────────────────────────────────────────────────────────────────

/// The first event: every lane starts.
struct GateOpened {
    static constexpr const char* name = "GateOpened";
    void fields(auto&&) const {}
};

struct DrainAsked {
    LaneId lane;

    static constexpr const char* name = "DrainAsked";
    void fields(auto&& f) const { f("lane", lane); }
};

/// Revives a drained lane.
struct ResumeAsked {
    LaneId lane;

    static constexpr const char* name = "ResumeAsked";
    void fields(auto&& f) const { f("lane", lane); }
};

/// Lets the lane's jobs finish, then starts it anew; asked again meanwhile: at once. Revives every
/// lane that is off.
struct RestartAsked {
    LaneId lane;

    static constexpr const char* name = "RestartAsked";
    void fields(auto&& f) const { f("lane", lane); }
};

/// The shell holds a newer generation; the kind says whether there is memory for it beside the old
/// one. Asked again before any worker serves it: it starts over with the newest; later: the newest
/// follows when this one is through.
struct ReloadAsked {
    PoolId pool;
    Generation generation;
    ReloadKind kind = ReloadKind::beside;

    static constexpr const char* name = "ReloadAsked";
    void fields(auto&& f) const { f("pool", pool), f("generation", generation), f("kind", kind); }
};

/// Every lane of the pool proves itself anew, one at a time.
struct ProveAsked {
    PoolId pool;

    static constexpr const char* name = "ProveAsked";
    void fields(auto&& f) const { f("pool", pool); }
};

/// Nothing new is admitted; what was admitted has `patience` to finish; asked again, only the
/// shorter one counts.
struct ShutdownAsked {
    Duration patience = Duration::zero();

    static constexpr const char* name = "ShutdownAsked";
    void fields(auto&& f) const { f("patience", patience); }
};

/// next_deadline() has come.
struct TimePassed {
    static constexpr const char* name = "TimePassed";
    void fields(auto&&) const {}
};

using Event =
    std::variant<JobArrived, BodyGrew, BodyCompleted, BodyFailed, JobRouted, ClientLeft,
                 CancelAsked, WorkerStarted, LoadProgressed, WorkerReady, WorkerExited, WorkerGone,
                 WorkerMisbehaved, AnswerBegun, AnswerMoved, AttemptEnded, ProbeEnded, ProofEnded,
                 MemoryFreed, GpuLost, GateOpened, DrainAsked, ResumeAsked, RestartAsked,
                 ReloadAsked, ProveAsked, ShutdownAsked, TimePassed>;

}  // namespace turnpike
