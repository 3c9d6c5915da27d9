// The records of the ledger: what an observer knows of each job, attempt, worker, lane and pool.
//
// The observer never guesses. Where docs/engine.md leaves the engine a choice, a fact is a `Sure`
// and a number has two bounds: `_lo` is certain, `_hi` is possible. A rule that forbids an action
// uses only what is certain; a rule that demands an action applies only if nothing possible excuses
// the engine. `perhaps_` marks facts and counts that are only possible.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/time.h"
#include "core/settings.h"
#include "core/view.h"
#include "core/words.h"

namespace turnpike::sim {

/// How sure the observer is of a fact: it does not hold, it may hold, it certainly holds.
enum class Sure : std::uint8_t { no, maybe, yes };

constexpr void raise_to(Sure& fact, Sure least) { fact = std::max(fact, least); }
constexpr void lower_to(Sure& fact, Sure most) { fact = std::min(fact, most); }

/// How a job came into the queue. Retries are ahead of all fresh jobs.
enum class Entry : std::uint8_t { retry, fresh };

/// A place in a queue: retries first, in the order of their return; then fresh jobs by rank.
struct QueueKey {
    Entry entry = Entry::fresh;
    std::int64_t rank = 0;    // fresh: queued at − priority × age_step; retry: turn of its return
    std::uint64_t order = 0;  // numbers all entries into queues
    std::uint8_t priority = 0;
    JobId job;

    friend bool operator<(const QueueKey& a, const QueueKey& b) {
        if (a.entry != b.entry) return a.entry < b.entry;
        return a.rank != b.rank ? a.rank < b.rank : a.order < b.order;
    }
    /// True if this place is certainly ahead, whatever the rule for ties is.
    [[nodiscard]] bool is_ahead_of(const QueueKey& other) const {
        if (entry != other.entry) return entry < other.entry;
        if (rank != other.rank) return rank < other.rank;
        return entry == Entry::fresh && priority == other.priority && order < other.order;
    }
};
using Queue = std::set<QueueKey>;

struct KnownAttempt;
struct KnownWorker;

/// What must or may happen to a job in this turn.
struct JobFate {
    enum class End : std::uint8_t {
        open,      // nothing demands its end
        may_come,  // it may end with `reason`
        must_come  // it must end with `reason`
    };
    End end = End::open;
    EndReason reason{};               // meaningless while `end` is open
    bool accepts_any_reason = false;  // the rules leave the reason open

    [[nodiscard]] bool must_end() const { return end == End::must_come; }
    [[nodiscard]] bool allows(EndReason given) const {
        return accepts_any_reason || (end != End::open && reason == given);
    }
};

struct KnownJob {
    JobId id;
    PoolId pool;
    LaneId wanted;
    Priority priority;
    bool is_aside = false;
    Instant deadline = never;
    std::uint64_t bytes_lo = 0;
    std::uint64_t bytes_hi = 0;

    JobState state = JobState::arriving;
    Instant queued_at{};
    QueueKey key;
    Queue* queue = nullptr;  // where it waits; nullptr if it may or may not have to ride alone
    KnownAttempt* ride = nullptr;  // while it runs
    std::uint32_t attempts = 0;
    AttemptId last;  // its latest attempt
    LaneId last_lane;

    std::uint32_t lone_deaths_lo = 0;  // workers that died while it was alone aboard
    std::uint32_t lone_deaths_hi = 0;
    Sure alone = Sure::no;  // must ride alone
    JobFate fate;           // reset after each turn
};

enum class AttemptStage : std::uint8_t {
    sent,       // no byte of its answer has come
    answering,  // its answer has begun
    over        // it ended in this turn
};

struct KnownAttempt {
    AttemptId id;
    JobId job_id;
    KnownJob* job = nullptr;  // nullptr if its job has ended without it
    KnownWorker* worker = nullptr;
    bool is_aside = false;
    std::uint64_t batch = 0;
    Instant sent{};
    Instant moved{};               // the latest sign of life: job_timeout counts from here
    Instant timed_out_at = never;  // when the observer first saw it beyond job_timeout
    AttemptStage stage = AttemptStage::sent;
    Sure alone = Sure::no;         // rides alone
    Sure shared = Sure::no;        // was aboard when the link of another attempt broke
    bool was_usual_known = false;  // the usual run time, when the attempt was sent
    bool is_cancelled = false;
    bool was_reported_slow = false;

    [[nodiscard]] bool is_over() const { return stage == AttemptStage::over; }
};

struct KnownProbe {
    std::optional<std::uint32_t> out;  // number of the probe that waits for its answer
    Sure clean = Sure::yes;  // no job and no proof since it was sent; `maybe` if asides were sent
    std::uint32_t failures_lo = 0;
    std::uint32_t failures_hi = 0;
    bool was_refused = false;
    Instant last_sent{};
    Instant last_ended{};
};

enum class ProofRun : std::uint8_t {
    none,
    routine,       // periodic, or asked for by ProveAsked
    after_trouble  // before the worker may take its next job
};

struct KnownProof {
    std::uint32_t number = 0;
    ProofRun run = ProofRun::none;
    Sure needed = Sure::no;  // before the next job
    bool is_asked = false;   // by ProveAsked, since the latest proof that passed
    bool has_failed = false;
    Instant sent{};
    Instant passed_at{};
    Instant first_passed_at = never;
    std::optional<std::uint32_t> vote;

    [[nodiscard]] bool is_running() const { return run != ProofRun::none; }
    [[nodiscard]] bool has_ever_passed() const { return first_passed_at != never; }
};

struct KnownTrust {
    std::uint32_t streak_lo = 0;  // failures in a row
    std::uint32_t streak_hi = 0;
    Sure probation = Sure::no;  // takes one job at a time
    bool needs_proof = false;   // certainly, before the next job
    Instant suspected_at{};     // the latest failure that may have begun or prolonged its probation
    Instant rests_until{};
};

/// A worker passes through these in order. It may skip some.
enum class WorkerLife : std::uint8_t {
    starting,  // StartWorker was given
    loading,   // it said that it started
    ready,     // it said that it is ready
    ending,    // it was stopped or killed, exited or misbehaved: what was aboard is lost
    gone
};

/// What this turn's event demands of the engine for a worker.
enum class WorkerDemand : std::uint8_t { none, stop_or_kill, kill };

/// What has happened to a worker so far.
struct WorkerPast {
    bool was_current = false;  // was its lane's current worker
    bool was_drained = false;  // its lane was drained
    std::uint32_t restarts_asked = 0;
    bool perhaps_disagreed = false;  // may have been outside a strict majority
    bool is_unsettled = false;       // something happened that the rules do not settle
    bool has_crashed = false;        // its end counts as a crash
    bool was_given_up = false;       // survived its kill, so its lane was quarantined
};

struct KnownWorker {
    WorkerId id;
    LaneId lane;
    PoolId pool;
    Generation generation;
    WorkerLife life = WorkerLife::starting;
    Sure held = Sure::no;     // takes no job until a probe is answered
    Sure retired = Sure::no;  // takes no more jobs
    WorkerPast past;
    WorkerDemand demand = WorkerDemand::none;  // reset after each turn
    KnownProbe probe;
    KnownProof proof;
    KnownTrust trust;
    std::vector<KnownAttempt*> aboard;

    std::uint32_t slots = 1;
    std::uint32_t batch = 1;
    bool has_proof = false;  // its pool has a proof, or it has an example

    Instant progressed_lo{};  // latest progress of its load
    Instant progressed_hi{};
    Instant ready_at = never;
    Instant stopped_at = never;
    std::uint64_t stopped_turn = 0;
    Instant killed_at = never;
    Instant exited_at = never;
    Reason end_reason = Reason::none;
    std::uint64_t kill_turn = 0;  // the latest turn whose actions kill it
    Instant idle_since{};

    /// True if two jobs can be aboard at once.
    [[nodiscard]] bool can_share() const { return slots > 1 || batch > 1; }
    /// Stays true after the worker has ended.
    [[nodiscard]] bool has_loaded() const { return ready_at != never; }
    /// Stays true once the worker is gone.
    [[nodiscard]] bool is_ending() const { return life >= WorkerLife::ending; }
    [[nodiscard]] bool is_gone() const { return life == WorkerLife::gone; }
};

struct Batch {
    std::uint64_t number = 0;
    std::uint32_t left = 0;  // attempts that are still aboard
};

/// The batch that the engine is sending. Its members must follow each other.
struct OpenBatch {
    WorkerId worker;
    std::uint32_t next = 0;  // index of the next member; 0 if no batch is open
    std::uint32_t size = 0;
};

/// Why a lane is out of service, or must be.
struct KnownOutage {
    bool is_drained = false;
    bool is_gpu_lost = false;
    bool must_stay_down = false;   // failed or quarantined, as far as the observer saw
    bool has_ever_failed = false;  // since it was revived, or its pool got new code
    bool had_failed_before_reload = false;
};

struct KnownLane {
    LaneId id;
    PoolId pool;
    std::vector<KnownWorker*> workers;  // those that are not gone
    std::vector<Batch> batches;         // aboard; each takes one slot
    std::uint32_t riders = 0;           // attempts aboard, asides not counted
    std::uint32_t asides = 0;
    KnownAttempt* lone_ride = nullptr;
    Queue queue;                         // jobs that want only this lane
    std::uint64_t queued_for_lane = 0;   // includes those that must ride alone
    std::optional<Instant> last_job_lo;  // empty until its first job
    Instant last_job_hi{};

    KnownOutage outage;
    Sure memory_held = Sure::no;
    Sure latest_failed = Sure::no;  // its latest job
    bool must_start = false;        // in this turn

    Instant not_before{};           // no ordinary start comes earlier
    Instant last_trouble{};         // the latest end of a worker that may delay the next start
    Instant not_after{};            // when that delay is certainly over
    std::uint32_t trouble_row = 0;  // such ends in a row
    Instant last_gone{};
    std::uint32_t crash_row = 0;
    std::vector<Instant> crashes_lo;
    std::vector<Instant> crashes_hi;
    std::uint32_t proof_failures_row = 0;
    std::uint32_t proof_failures_hi = 0;
    std::uint32_t disagreements_row = 0;
    std::uint32_t disagreements_hi = 0;
    std::uint64_t finished = 0;
    std::uint64_t failed = 0;
    std::uint64_t starts = 0;
    LaneState reported = LaneState::starting;
    std::uint64_t reported_turn = 0;  // the latest turn with a ReportLane for it

    /// True if the operator drained the lane, or its GPU was lost.
    [[nodiscard]] bool is_taken_out() const { return outage.is_drained || outage.is_gpu_lost; }
};

/// What this turn's vote shows about a pool.
enum class Majority : std::uint8_t { unclear, exists, missing };

struct KnownPool {
    PoolId id;
    const PoolSettings* settings = nullptr;
    std::span<KnownLane> lanes;
    Queue queue;                 // jobs that any lane may take
    Queue alone;                 // jobs that must ride alone
    std::deque<QueueKey> waits;  // all queued jobs by time; jobs that left are dropped at the front
    std::uint64_t arriving = 0;
    std::uint64_t arriving_asides = 0;
    std::uint64_t queued = 0;
    std::uint64_t running = 0;
    std::uint64_t running_asides = 0;
    std::uint64_t perhaps_alone = 0;  // queued jobs that may or may not have to ride alone
    std::uint64_t lone_rides = 0;
    std::uint64_t perhaps_lone_rides = 0;
    std::uint64_t lone_change = 0;  // latest turn in which a job that rides alone came or went
    Counts counts;
    std::vector<Generation> asked;           // by ReloadAsked
    std::map<Generation, ReloadKind> kinds;  // how each was first asked for
    Generation newest{0};                    // of those asked for
    Generation tried{0};                     // of the latest reload that began
    std::uint64_t reload_turn = 0;           // when that reload began
    std::vector<Generation> ever_good;
    std::vector<Generation> failed;
    Majority majority = Majority::unclear;  // reset after each turn
    bool had_odd_reload = false;            // a generation was asked for that is not newer
    std::uint64_t answered_lo = 0;
    std::uint64_t answered_hi = 0;
    Duration fastest = Duration::max();
    Duration slowest = Duration::zero();
    Instant usual_since{};                 // the usual run time has not changed since then
    bool did_latest_have_example = false;  // the worker that became ready last has an example

    /// True if the generation was first asked for as a reload of this kind.
    [[nodiscard]] bool was_asked_as(Generation generation, ReloadKind kind) const {
        const auto found = kinds.find(generation);
        return found != kinds.end() && found->second == kind;
    }
};

}  // namespace turnpike::sim
