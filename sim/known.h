// The records of the ledger: what an observer knows of each job, attempt, worker, lane and pool.
//
// The observer never guesses. Where docs/engine.md leaves the engine a choice, a fact is a `Sure`
// and a number has two bounds: `_lo` is certain, `_hi` is possible. A rule that forbids an action
// uses only what is certain; a rule that demands an action applies only if nothing possible excuses
// the engine. `perhaps_` marks facts and counts that are only possible.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/time.h"
#include "core/event.h"
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
        if (a.rank != b.rank) return a.rank < b.rank;
        if (a.entry == Entry::fresh && a.priority != b.priority) return a.priority > b.priority;
        return a.order < b.order;
    }
    /// True if this place is certainly ahead. Of retries of one turn, any may be.
    [[nodiscard]] bool is_ahead_of(const QueueKey& other) const {
        if (entry == Entry::retry && other.entry == Entry::retry) return rank < other.rank;
        return *this < other;
    }
};
using Queue = std::set<QueueKey>;

/// The place of a client in the ring of a level: who has the lowest number is next.
struct KnownTurn {
    std::uint64_t number = 0;
    Instant since{};
    std::uint32_t jobs = 0;
};

/// What a client has in a pool.
struct KnownLine {
    Queue jobs;  // fresh ones that any lane may take
    std::array<KnownTurn, Priority::levels> turns;
    std::uint64_t arriving = 0;  // asides not counted
    std::uint64_t queued = 0;
    std::uint64_t pinned = 0;  // jobs that arrive or are queued, and want a lane
    Instant latest_turn = Instant::min();
    Instant latest_pinned_turn = Instant::min();
    JobId lone_job;                    // until it ends, the line takes no turns; mostly none
    std::uint64_t live = 0;            // jobs that wait or run, asides not counted
    Instant gone_at = Instant::min();  // when the last of them ended
    std::map<ClientId, std::uint32_t>
        went_ahead;  // turns of others since its own, or since it came
};

struct KnownClient {
    bool is_known = false;
    ClientLimits limits;  // as its latest admitted job said
    std::uint64_t live = 0;
    std::uint64_t uploads = 0;
    std::uint64_t queued = 0;
    std::uint64_t bytes = 0;
    std::uint64_t refused = 0;
    std::vector<Instant> poisoned_at;
    Instant suspected_until{};
};

/// A body that has grown in this turn, and for which there was no room at first.
struct PendingGrowth {
    JobId job;
    std::uint64_t total = 0;
    bool is_complete = false;
};

/// Whose turn it is, and how long that client has waited for it: the smaller, the longer.
struct NextTurn {
    ClientId client;
    Instant rank{};
};

struct KnownAttempt;
struct KnownWorker;

/// Whether a job with a complete body is compared with known poison before it is queued.
enum class HashStage : std::uint8_t {
    none,
    due,   // in this turn
    asked  // HashJob was given
};

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
    ClientId client;
    LaneId wanted;
    Priority priority;
    std::uint8_t level = 0;  // its priority, as far as it counts against other clients
    bool is_aside = false;
    Instant arrived{};
    Instant deadline = never;
    std::uint64_t bytes = 0;     // as many as count
    std::uint64_t received = 0;  // as many as have come

    JobState state = JobState::arriving;
    Instant queued_at{};
    QueueKey key;
    Queue* queue = nullptr;        // where it waits
    KnownAttempt* ride = nullptr;  // while it runs
    std::uint32_t attempts = 0;
    AttemptId last;  // its latest attempt
    LaneId last_lane;

    std::uint32_t lone_deaths = 0;  // workers of `died_in` that died while it was alone aboard
    bool is_alone = false;          // must ride alone
    LaneId died_on;                 // the latest death under it
    Generation died_in;
    Instant died_at{};
    Instant avoids_until_lo{};  // until then it avoids `died_on`, if another lane serves
    Instant avoids_until_hi{};
    std::uint64_t suspect_in = 0;  // number of its case; 0 if it is not suspected
    bool was_stale = false;
    bool may_have_reached_worker = false;
    HashStage hash = HashStage::none;
    bool is_sure_poison = false;  // and the model does not fail with every job
    bool was_compared = false;    // with the poisons that were known when it came
    JobId equal_to;               // the poison that it equals
    JobFate fate;                 // reset after each turn
};

/// The death of a worker under jobs, or a broken link that may become one.
struct KnownCase {
    LaneId lane;
    Generation generation;
    std::uint32_t suspects = 0;
    bool is_worker_dead = false;
    bool is_lane_cleared = false;
    bool is_lane_perhaps_cleared = false;
    bool is_explained = false;  // by a poison job, or by one that wanted the lane
};

/// Deaths of a lane in a row, without an answer. Those that a job explains are taken out.
struct KnownRow {
    std::set<std::uint64_t> deaths;  // each has a number of its own
    Instant began{};

    void add(std::uint64_t death, Instant now) {
        if (deaths.empty()) began = now;
        deaths.insert(death);
    }
};

/// A job that was poison, as long as the engine must remember it.
struct KnownPoison {
    JobId first;
    std::uint64_t length = 0;
    std::optional<Digest> digest;
    Instant until{};
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
    ClientId client;
    bool is_pinned = false;
    bool is_aside = false;
    std::uint64_t batch = 0;
    Instant sent{};
    Instant moved{};               // the latest sign of life: job_timeout counts from here
    Instant timed_out_at = never;  // when the observer first saw its time run out
    Instant expired_lo = never;    // its time may have run out then, because nobody waited
    AttemptStage stage = AttemptStage::sent;
    bool is_alone = false;                         // rides alone
    bool is_shared = false;                        // was aboard when another link broke
    std::optional<std::uint32_t> closed_at_probe;  // its exchange is closed: the latest probe then
    bool was_usual_known = false;                  // the usual run time, when the attempt was sent
    bool is_cancelled = false;
    bool was_reported_slow = false;

    [[nodiscard]] bool is_over() const { return stage == AttemptStage::over; }
    [[nodiscard]] bool is_closed() const { return closed_at_probe.has_value(); }
};

struct KnownProbe {
    std::optional<std::uint32_t> out;  // number of the probe that waits for its answer
    std::uint32_t latest = 0;          // number of the latest probe
    bool does_refusal_count = false;   // since it was sent, only closed exchanges were aboard
    bool was_for_closed = false;       // it was sent because of a closed exchange
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
    std::set<ClientId> streak_of_lo;  // the clients of these jobs
    std::set<ClientId> streak_of_hi;
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
    bool was_failed = false;   // its lane had failed
    std::uint32_t restarts_asked = 0;
    bool perhaps_disagreed = false;  // may have been outside a strict majority
    bool is_unsettled = false;       // something happened that the rules do not settle
    bool has_crashed = false;        // it ended by itself, or because it was silent
    bool was_given_up = false;       // survived its kill, so its lane was quarantined
    bool is_try = false;             // of a failed lane that tries again; false once the lane is on
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
    bool must_be_probed = false;               // likewise
    KnownProbe probe;
    KnownProof proof;
    KnownTrust trust;
    std::vector<KnownAttempt*> aboard;

    std::uint32_t slots = 1;
    std::uint32_t batch = 1;
    bool has_proof = false;  // its pool has a proof, or it has an example

    std::uint64_t trouble = 0;       // number of the case that its broken link or its death opened
    Instant perhaps_busy_until{};    // it may still work on what was closed
    std::uint64_t boarded_turn = 0;  // the latest that put a job aboard, asides not counted
    Instant unattended_at = never;   // since then nobody waits for anything aboard
    Instant patience_lo{};           // when that must end at the earliest, and at the latest
    Instant patience_hi{};

    Instant started_at{};

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
    bool must_stay_down = false;  // failed or quarantined, as far as the observer saw
    bool had_failed_before_reload = false;
    bool was_wrong_before_reload = false;  // quarantined for wrong answers
    bool must_fail = false;                // in this turn
    bool must_be_quarantined = false;      // in this turn
    Sure parole = Sure::no;                // had failed and serves again: the next crash fails it
    Instant retry_at = never;              // while it has failed: when it must try again
    bool may_fail_again = false;           // it tries again, or a reload ended its try
};

struct KnownLane {
    LaneId id;
    PoolId pool;
    std::vector<KnownWorker*> workers;  // those that are not gone
    std::vector<Batch> batches;         // aboard; each takes one slot
    std::uint32_t riders = 0;           // attempts aboard, asides not counted
    std::uint32_t asides = 0;
    KnownAttempt* lone_ride = nullptr;
    Queue queue;  // jobs that want only this lane
    std::uint64_t arriving_for_lane = 0;
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
    KnownRow row_lo;                     // the deaths that certainly count
    KnownRow row_hi;                     // those that may count
    std::optional<Instant> answered_at;  // its latest answer to a job
    Generation served_lo;                // the latest generation that has certainly served
    std::set<Generation> served_hi;      // those that may have served
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
    Duration reported_next_try{};
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
    Queue retries;  // that any lane may take
    std::map<ClientId, KnownLine> lines;
    Queue alone;                 // jobs that must ride alone
    std::deque<QueueKey> waits;  // all queued jobs by time; jobs that left are dropped at the front
    std::uint64_t arriving = 0;
    std::uint64_t arriving_asides = 0;
    std::uint64_t queued = 0;
    std::uint64_t running = 0;
    std::uint64_t running_asides = 0;
    std::uint64_t lone_rides = 0;
    std::vector<KnownPoison> poisons;  // oldest first
    std::uint32_t poisons_in_row = 0;
    std::uint64_t lone_change = 0;  // latest turn in which a job that rides alone came or went
    std::uint64_t lone_end = 0;     // latest turn in which one ended
    Counts counts;
    std::vector<Generation> asked;           // by ReloadAsked
    std::map<Generation, ReloadKind> kinds;  // how each was first asked for
    Generation newest{0};                    // of those asked for
    Generation tried{0};                     // of the latest reload that began
    std::uint64_t reload_turn = 0;           // when that reload began
    std::uint64_t given_up_turn = 0;         // when a reload was last given up
    std::vector<Generation> ever_good;
    std::vector<Generation> failed;
    Majority majority = Majority::unclear;  // reset after each turn
    bool had_odd_reload = false;            // a generation was asked for that is not newer
    std::uint64_t answered_lo = 0;
    std::uint64_t answered_before_lo = 0;  // before this turn
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
