// Everything the engine can order, as values in the imperative. The shell carries them out in this
// order, except that it may send jobs before it ends others (serve/driver.h).
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
    Duration retry_after = Duration::zero();  // zero means no advice

    static constexpr const char* name = "RefuseJob";
    void fields(auto&& f) const {
        f("ticket", ticket), f("pool", pool), f("reason", reason), f("retry_after", retry_after);
    }
};

/// Compute the digest of the job, off the loop: JobHashed follows. The job may end meanwhile, even in
/// the same turn.
struct HashJob {
    JobId job;

    static constexpr const char* name = "HashJob";
    void fields(auto&& f) const { f("job", job); }
};

/// The one answer of an admitted job. With `answered` and `bad_input`, and when the model wrote its
/// own error, the client gets the bytes of `attempt`. Otherwise the gate writes a problem.
struct EndJob {
    JobId job;
    EndReason reason = EndReason::answered;
    AttemptId attempt;  // the last one; none if the job never ran
    std::uint32_t attempts = 0;
    LaneId lane;  // where the last attempt ran
    Duration retry_after = Duration::zero();
    JobId first;  // with known_poison: the equal job that was poison

    static constexpr const char* name = "EndJob";
    void fields(auto&& f) const {
        f("job", job), f("reason", reason), f("attempt", attempt), f("attempts", attempts);
        f("lane", lane), f("retry_after", retry_after), f("first", first);
    }
};

// ── to the supervisor ────────────────────────────────────────────────────────────────────────────

struct StartWorker {
    WorkerId worker;
    LaneId lane;
    Generation generation;
    bool is_next = false;  // the next worker of a reload, beside the current one

    static constexpr const char* name = "StartWorker";
    void fields(auto&& f) const {
        f("worker", worker), f("lane", lane), f("generation", generation), f("is_next", is_next);
    }
};

/// Ask the worker to end. No client waits for anything aboard.
struct StopWorker {
    WorkerId worker;
    Reason reason = Reason::none;

    static constexpr const char* name = "StopWorker";
    void fields(auto&& f) const { f("worker", worker), f("reason", reason); }
};

/// Kill the worker's whole process tree now. For an attached worker: close every link to it.
struct KillWorker {
    WorkerId worker;
    Reason reason = Reason::none;

    static constexpr const char* name = "KillWorker";
    void fields(auto&& f) const { f("worker", worker), f("reason", reason); }
};

/// Send one attempt of one job. The members of a batch follow each other, with batch_index from 0
/// to batch_size - 1.
struct SendJob {
    WorkerId worker;
    LaneId lane;
    JobId job;
    AttemptId attempt;
    std::uint32_t number = 1;  // counts the attempts of the job
    std::uint32_t batch_index = 0;
    std::uint32_t batch_size = 1;

    static constexpr const char* name = "SendJob";
    void fields(auto&& f) const {
        f("worker", worker), f("lane", lane), f("job", job), f("attempt", attempt),
            f("number", number);
        f("batch_index", batch_index), f("batch_size", batch_size);
    }
};

/// Send the cancel frame, or close the connection: nobody wants the answer. AttemptEnded still
/// follows.
struct CancelAttempt {
    WorkerId worker;
    AttemptId attempt;

    static constexpr const char* name = "CancelAttempt";
    void fields(auto&& f) const { f("worker", worker), f("attempt", attempt); }
};

/// Ping the worker, or request its health path. ProbeEnded follows.
struct ProbeWorker {
    WorkerId worker;
    std::uint32_t probe = 0;

    static constexpr const char* name = "ProbeWorker";
    void fields(auto&& f) const { f("worker", worker), f("probe", probe); }
};

/// Send the worker its proof. ProofEnded follows.
struct ProveWorker {
    WorkerId worker;
    std::uint32_t proof = 0;

    static constexpr const char* name = "ProveWorker";
    void fields(auto&& f) const { f("worker", worker), f("proof", proof); }
};

// ── to the server ────────────────────────────────────────────────────────────────────────────────

/// End the program. Shutdown is complete: no job lives, and every worker has ended, except workers
/// that survived a kill.
struct Leave {
    static constexpr const char* name = "Leave";
    void fields(auto&&) const {}
};

// ── reports, for people and for the supervisor ───────────────────────────────────────────────────

/// A lane changed its state. Changes between `ready` and `busy` are not reported.
struct ReportLane {
    LaneId lane;
    LaneState state = LaneState::starting;
    Reason reason = Reason::none;
    /// When a failed lane tries again. Zero if it has not failed, if its try has begun, or if the
    /// try only waits for something else to end.
    Duration next_try = Duration::zero();

    static constexpr const char* name = "ReportLane";
    void fields(auto&& f) const {
        f("lane", lane), f("state", state), f("reason", reason), f("next_try", next_try);
    }
};

/// The job runs far longer than the usual time of its pool. The shell dumps stacks.
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

/// It is the turn of a client whose jobs killed workers again and again. So its job rides alone, as a
/// suspect does.
struct ReportSuspect {
    JobId job;
    LaneId lane;  // whose free slot it did not take

    static constexpr const char* name = "ReportSuspect";
    void fields(auto&& f) const { f("job", job), f("lane", lane); }
};

/// The next worker of a lane became its current one.
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

/// This lane fails job after job, and so does every other lane: the model is the cause. The lane
/// keeps serving.
struct ReportModelFailing {
    PoolId pool;
    LaneId lane;

    static constexpr const char* name = "ReportModelFailing";
    void fields(auto&& f) const { f("pool", pool), f("lane", lane); }
};

/// The lanes of one generation give different answers, and no answer has the majority. All lanes
/// keep serving.
struct ReportNoMajority {
    PoolId pool;
    Generation generation;

    static constexpr const char* name = "ReportNoMajority";
    void fields(auto&& f) const { f("pool", pool), f("generation", generation); }
};

using Action =
    std::variant<AdmitJob, RefuseJob, HashJob, EndJob, StartWorker, StopWorker, KillWorker, SendJob,
                 CancelAttempt, ProbeWorker, ProveWorker, Leave, ReportLane, ReportSlowJob,
                 ReportSuspect, ReportSwitch, ReportReload, ReportModelFailing, ReportNoMajority>;

using Actions = std::vector<Action>;

}  // namespace turnpike
