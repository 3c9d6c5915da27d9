// The records of the ledger: what an observer knows of each job, attempt, worker, lane and pool.
//
// The observer never guesses. Where docs/engine.md leaves a choice, it keeps both ends: `_lo` is what
// certainly holds (a rule that bars something uses it), `_hi` what may hold (a rule that demands
// something uses it); `perhaps_` marks what may hold, beside what certainly does.
#pragma once

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

enum class Sure : std::uint8_t { no, maybe, yes };

/// A place in a queue: retries first, in their order; then by rank.
struct QueueKey {
    bool fresh = true;        // not a retry
    std::int64_t rank = 0;    // fresh: queued at − priority × age_step; else the turn of its return
    std::uint64_t order = 0;  // of queueing
    std::uint8_t priority = 0;
    JobId job;

    friend bool operator<(const QueueKey& a, const QueueKey& b) {
        if (a.fresh != b.fresh) return b.fresh;
        return a.rank != b.rank ? a.rank < b.rank : a.order < b.order;
    }
    /// Certainly ahead, whatever the rule for ties.
    [[nodiscard]] bool is_ahead_of(const QueueKey& other) const {
        if (fresh != other.fresh) return !fresh;
        if (rank != other.rank) return rank < other.rank;
        return fresh && priority == other.priority && order < other.order;
    }
};
using Queue = std::set<QueueKey>;

struct KnownAttempt;
struct KnownWorker;

struct KnownJob {
    JobId id;
    PoolId pool;
    LaneId wanted;
    Priority priority;
    bool aside = false;
    Instant deadline = never;
    std::uint64_t bytes_lo = 0;
    std::uint64_t bytes_hi = 0;

    JobState state = JobState::arriving;
    Instant queued_at{};
    QueueKey key;
    Queue* queue = nullptr;        // where it waits, if its order counts
    KnownAttempt* ride = nullptr;  // while running
    std::uint32_t attempts = 0;
    AttemptId last;
    LaneId last_lane;

    std::uint32_t lone_deaths_lo = 0;
    std::uint32_t lone_deaths_hi = 0;
    Sure alone = Sure::no;  // must ride alone

    // of this turn
    bool must_end = false;
    bool any_end = false;  // every reason will do
    std::optional<EndReason> expected;
};

struct KnownAttempt {
    AttemptId id;
    JobId job_id;
    KnownJob* job = nullptr;  // nullptr: abandoned
    KnownWorker* worker = nullptr;
    bool aside = false;
    std::uint64_t batch = 0;
    Instant sent{};
    Instant moved{};               // when job_timeout began to count
    Instant timed_out_at = never;  // when we first saw it beyond job_timeout
    bool usual_known_at_send = false;
    bool begun = false;
    bool cancelled = false;
    bool reported_slow = false;
    bool rides_alone = false;
    bool perhaps_alone = false;
    bool over = false;       // ended in this turn
    Sure shared = Sure::no;  // in an earlier break
};

struct KnownProbe {
    std::uint32_t number = 0;
    bool out = false;
    bool clean = true;          // nothing aboard since it began, and no proof
    bool perhaps_clean = true;  // but for asides
    std::uint32_t failures_lo = 0;
    std::uint32_t failures_hi = 0;
    bool refused = false;
    Instant last_sent{};
    Instant last_ended{};
};

struct KnownProof {
    std::uint32_t number = 0;
    bool out = false;
    bool routine = false;  // the one under way is periodic or asked for, not after trouble
    bool needed = false;   // certainly, before the next job
    bool needed_for_trust = false;
    bool perhaps_needed = false;
    bool ever_passed = false;
    bool failed = false;
    bool asked = false;  // by ProveAsked, since its last one
    Instant sent{};
    Instant passed_at{};
    Instant first_passed_at{};
    std::optional<std::uint32_t> vote;
};

struct KnownTrust {
    std::uint32_t streak_lo = 0;
    std::uint32_t streak_hi = 0;
    Instant suspected_at{};  // when perhaps_probation began
    Instant rests_until{};
    bool probation = false;  // certainly
    bool perhaps_probation = false;
};

struct KnownWorker {
    WorkerId id;
    LaneId lane;
    PoolId pool;
    Generation generation;
    Instant progressed_lo{};
    Instant progressed_hi{};
    Instant ready_at = never;
    Instant stopped_at = never;
    std::uint64_t stopped_turn = 0;
    Instant killed_at = never;
    Instant exited_at = never;
    Reason end_reason = Reason::none;
    std::uint32_t slots = 1;
    std::uint32_t batch = 1;
    bool proves = false;  // its pool has a proof, or it has an example
    bool told_started = false;
    bool ready = false;
    bool dead = false;  // nothing aboard counts any more
    bool gone = false;
    bool held = false;  // for a probe, certainly
    bool perhaps_held = false;
    bool retired = false;  // certainly takes nothing more
    bool perhaps_retired = false;
    bool doubtful = false;  // something happened that the rules do not settle
    bool disagreed_hi = false;
    bool crashed = false;  // its end was put down as a crash
    bool ever_current = false;
    bool given_up = false;    // its lane was quarantined for it
    bool must_kill = false;   // in this turn
    bool must_end = false;    // in this turn: stop or kill
    bool killed_now = false;  // this turn's actions kill it
    std::uint32_t restarts_asked = 0;
    bool drain_asked = false;
    Instant idle_since{};
    KnownProbe probe;
    KnownProof proof;
    KnownTrust trust;
    std::vector<KnownAttempt*> aboard;

    [[nodiscard]] bool shares() const { return slots > 1 || batch > 1; }
    [[nodiscard]] bool is_ending() const {
        return dead || gone || stopped_at != never || killed_at != never || exited_at != never;
    }
};

struct Batch {
    std::uint64_t number = 0;
    std::uint32_t left = 0;
};

/// The members of a batch follow each other.
struct OpenBatch {
    WorkerId worker;
    std::uint32_t next = 0;
    std::uint32_t size = 0;
};

struct KnownLane {
    LaneId id;
    PoolId pool;
    std::vector<KnownWorker*> workers;  // not gone
    std::vector<Batch> batches;         // aboard: one slot each
    std::uint32_t riders = 0;           // attempts that are no asides
    std::uint32_t asides = 0;
    KnownAttempt* lone_ride = nullptr;
    Queue queue;                      // jobs that want only this lane
    std::uint64_t queued_for_it = 0;  // those that must ride alone, too
    Instant last_job_lo{};
    Instant last_job_hi{};
    bool had_job = false;

    bool drained = false;
    bool gpu_lost = false;
    Sure memory_held = Sure::no;
    Sure latest_failed = Sure::no;

    Instant not_before{};    // no ordinary start earlier
    Instant last_trouble{};  // the latest end that may ask for a delay
    Instant not_after{};     // that delay is over for certain
    std::uint32_t trouble_row = 0;
    Instant last_gone{};
    std::uint32_t crash_row = 0;
    std::vector<Instant> crashes_lo;
    std::vector<Instant> crashes_hi;
    bool must_stay_down = false;  // failed, or quarantined, by what we saw
    bool ever_failed = false;
    bool failed_before_reload = false;
    bool expects_start = false;  // in this turn
    std::uint32_t proof_failures_row = 0;
    std::uint32_t proof_failures_hi = 0;
    std::uint32_t disagreements_row = 0;
    std::uint32_t disagreements_hi = 0;
    std::uint64_t finished = 0;
    std::uint64_t failed = 0;
    std::uint64_t starts = 0;
    bool reported_now = false;
    LaneState reported = LaneState::starting;
};

struct KnownPool {
    PoolId id;
    const PoolSettings* settings = nullptr;
    std::span<KnownLane> lanes;
    Queue queue;  // jobs that any lane may take
    Queue alone;  // jobs that must ride alone
    std::deque<QueueKey>
        waits;  // all queued jobs by time; left ones are dropped when they come to the front
    std::uint64_t arriving = 0;
    std::uint64_t arriving_asides = 0;
    std::uint64_t queued = 0;
    std::uint64_t running = 0;
    std::uint64_t running_asides = 0;
    std::uint64_t perhaps_alone = 0;  // queued, and may or may not have to ride alone
    std::uint64_t lone_rides = 0;
    std::uint64_t perhaps_lone_rides = 0;
    std::uint64_t lone_change = 0;  // the turn in which a job that rides alone last came or went
    Counts counts;
    std::vector<Generation> asked;
    std::map<Generation, ReloadKind> kinds;  // of those, by the first request
    Generation newest{0};                    // of those asked for
    Generation tried{0};                     // the latest that was begun
    std::uint64_t reload_turn = 0;           // when that was
    std::vector<Generation> ever_good;
    std::vector<Generation> failed;
    std::optional<bool> majority_missing;  // as this turn's vote must have shown
    bool odd_reload = false;               // one was asked for that is no newer
    std::uint64_t answered_lo = 0;
    std::uint64_t answered_hi = 0;
    Duration fastest = Duration::max();
    Duration slowest = Duration::zero();
    Instant usual_since{};        // what is usual has not changed
    bool latest_example = false;  // the worker that became ready last has one

    [[nodiscard]] bool comes(Generation generation, ReloadKind kind) const {
        const auto found = kinds.find(generation);
        return found != kinds.end() && found->second == kind;
    }
};

}  // namespace turnpike::sim
