// Everything the engine can want, as values in the imperative. The shell carries them out in order.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "base/time.h"
#include "core/words.h"

namespace turnpike {

// ── to the gate ──────────────────────────────────────────────────────────────────────────────────

struct AdmitJob {
    Ticket ticket;
    JobId job;

    static constexpr const char* name = "AdmitJob";
    void fields(auto&& f) const { f("ticket", ticket), f("job", job); }
};

/// The arrival never became a job.
struct RefuseJob {
    Ticket ticket;
    PoolId pool;
    EndReason reason = EndReason::queue_full;
    Duration retry_after = Duration::zero();  // zero: don't say

    static constexpr const char* name = "RefuseJob";
    void fields(auto&& f) const {
        f("ticket", ticket), f("pool", pool), f("reason", reason), f("retry_after", retry_after);
    }
};

/// The one answer of an admitted job. With `answered` and `bad_input`, and when the model failed in
/// its own words, the bytes are those of `attempt`; else the gate writes a problem.
struct EndJob {
    JobId job;
    EndReason reason = EndReason::answered;
    AttemptId attempt;  // the last one; none: it never ran
    std::uint32_t attempts = 0;
    LaneId lane;  // of the last attempt
    Duration retry_after = Duration::zero();

    static constexpr const char* name = "EndJob";
    void fields(auto&& f) const {
        f("job", job), f("reason", reason), f("attempt", attempt), f("attempts", attempts);
        f("lane", lane), f("retry_after", retry_after);
    }
};

// ── to the supervisor ────────────────────────────────────────────────────────────────────────────

struct StartWorker {
    WorkerId worker;
    LaneId lane;
    Generation generation;
    bool is_next = false;  // of a reload, beside the lane's current one

    static constexpr const char* name = "StartWorker";
    void fields(auto&& f) const {
        f("worker", worker), f("lane", lane), f("generation", generation), f("is_next", is_next);
    }
};

/// Ask it to end. Nothing is aboard that anybody waits for.
struct StopWorker {
    WorkerId worker;
    Reason reason = Reason::none;

    static constexpr const char* name = "StopWorker";
    void fields(auto&& f) const { f("worker", worker), f("reason", reason); }
};

/// End its whole process tree now (attached: close every link to it).
struct KillWorker {
    WorkerId worker;
    Reason reason = Reason::none;

    static constexpr const char* name = "KillWorker";
    void fields(auto&& f) const { f("worker", worker), f("reason", reason); }
};

/// One attempt of one job. The members of a batch follow each other: batch_index 0 … batch_size -
/// 1.
struct SendJob {
    WorkerId worker;
    LaneId lane;
    JobId job;
    AttemptId attempt;
    std::uint32_t number = 1;  // of the attempt
    std::uint32_t batch_index = 0;
    std::uint32_t batch_size = 1;

    static constexpr const char* name = "SendJob";
    void fields(auto&& f) const {
        f("worker", worker), f("lane", lane), f("job", job), f("attempt", attempt),
            f("number", number);
        f("batch_index", batch_index), f("batch_size", batch_size);
    }
};

/// Nobody wants the answer: send the cancel frame, or close the connection. AttemptEnded still
/// follows.
struct CancelAttempt {
    WorkerId worker;
    AttemptId attempt;

    static constexpr const char* name = "CancelAttempt";
    void fields(auto&& f) const { f("worker", worker), f("attempt", attempt); }
};

/// Ping it, or ask its health path. ProbeEnded follows.
struct ProbeWorker {
    WorkerId worker;
    std::uint32_t probe = 0;

    static constexpr const char* name = "ProbeWorker";
    void fields(auto&& f) const { f("worker", worker), f("probe", probe); }
};

/// Send it the proof. ProofEnded follows.
struct ProveWorker {
    WorkerId worker;
    std::uint32_t proof = 0;

    static constexpr const char* name = "ProveWorker";
    void fields(auto&& f) const { f("worker", worker), f("proof", proof); }
};

/// Shutdown is complete: no job, no worker.
struct Leave {
    static constexpr const char* name = "Leave";
    void fields(auto&&) const {}
};

// ── to telemetry ─────────────────────────────────────────────────────────────────────────────────

/// A lane changed; `ready` and `busy` alternate without a report.
struct ReportLane {
    LaneId lane;
    LaneState state = LaneState::starting;
    Reason reason = Reason::none;

    static constexpr const char* name = "ReportLane";
    void fields(auto&& f) const { f("lane", lane), f("state", state), f("reason", reason); }
};

/// The job runs far over the usual time of its pool: dump stacks.
struct ReportSlowJob {
    JobId job;
    AttemptId attempt;
    WorkerId worker;
    Duration usual = Duration::zero();

    static constexpr const char* name = "ReportSlowJob";
    void fields(auto&& f) const {
        f("job", job), f("attempt", attempt), f("worker", worker), f("usual", usual);
    }
};

/// The next worker of a lane took over: it is the current one now.
struct ReportSwitch {
    LaneId lane;
    WorkerId worker;

    static constexpr const char* name = "ReportSwitch";
    void fields(auto&& f) const { f("lane", lane), f("worker", worker); }
};

struct ReportReload {
    PoolId pool;
    Generation generation;
    ReloadEnd end = ReloadEnd::spread;

    static constexpr const char* name = "ReportReload";
    void fields(auto&& f) const { f("pool", pool), f("generation", generation), f("end", end); }
};

/// This lane fails job after job, and so does every other: it is the model. It keeps serving.
struct ReportModelFailing {
    PoolId pool;
    LaneId lane;

    static constexpr const char* name = "ReportModelFailing";
    void fields(auto&& f) const { f("pool", pool), f("lane", lane); }
};

/// The lanes of one generation give different answers and none has the majority. All serve.
struct ReportNoMajority {
    PoolId pool;
    Generation generation;

    static constexpr const char* name = "ReportNoMajority";
    void fields(auto&& f) const { f("pool", pool), f("generation", generation); }
};

using Action =
    std::variant<AdmitJob, RefuseJob, EndJob, StartWorker, StopWorker, KillWorker, SendJob,
                 CancelAttempt, ProbeWorker, ProveWorker, Leave, ReportLane, ReportSlowJob,
                 ReportSwitch, ReportReload, ReportModelFailing, ReportNoMajority>;

using Actions = std::vector<Action>;

}  // namespace turnpike
