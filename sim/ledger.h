// What an observer of the engine knows from events and actions alone. known.h has the records.
// In each turn the ledger takes the event first; then each action is judged and taken in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "core/action.h"
#include "core/event.h"
#include "core/settings.h"
#include "core/view.h"
#include "sim/invariants.h"
#include "sim/known.h"

namespace turnpike::sim {

/// Why the engine may not do something.
struct Objection {
    std::string_view invariant;
    std::string_view why;

    [[nodiscard]] bool is_none() const { return invariant.empty(); }
};

struct Ledger {
    explicit Ledger(const Settings& given);

    Settings settings;
    std::vector<KnownLane> lanes;
    std::vector<KnownPool> pools;
    std::map<JobId, KnownJob> jobs;
    std::map<AttemptId, KnownAttempt> attempts;
    std::map<WorkerId, KnownWorker> workers;
    std::map<std::uint64_t, KnownCase> cases;
    std::uint64_t cases_opened = 0;
    std::map<ClientId, KnownClient> clients;
    std::uint64_t turns_given = 0;
    std::uint64_t bytes = 0;
    std::uint64_t arriving = 0;
    std::uint64_t batches_made = 0;
    std::uint64_t queueings = 0;
    bool is_open = false;
    bool is_shutting_down = false;
    Instant shutdown_asked_at = never;
    Instant shutdown_by = never;
    bool has_left = false;
    Instant jobs_due = never;  // no job is due earlier
    std::vector<std::uint64_t> recent_jobs, recent_attempts,
        recent_workers;  // ids that were used recently

    // the turn
    const Event* event = nullptr;
    Instant now{};
    std::uint64_t turn = 0;
    Instant deadline = never;  // the engine's next_deadline() after the previous turn
    bool is_late = false;  // the deadline had passed before the event, so the turn has two causes
    bool is_time_event = false;           // the event is TimePassed
    const JobArrived* arrival = nullptr;  // until the engine admits or refuses it
    View before;
    View seen;
    OpenBatch open_batch;
    std::vector<KnownAttempt*> ended_now;
    std::vector<KnownAttempt*> cancelled_now;
    std::vector<KnownAttempt*> abandoned_now;
    std::vector<KnownWorker*> gone_now;
    std::vector<JobId> hashed_now;             // jobs of HashJob actions
    std::vector<ReportSuspect> apart_now;      // set apart, but perhaps not yet
    std::map<ClientId, Instant> forgiven_now;  // until when they were suspected
    std::optional<PendingGrowth> growth;
    JobId must_hash;                            // the poison of this turn that has to be remembered
    std::vector<JobId> touched_jobs;            // this turn decides about them
    std::vector<KnownWorker*> touched_workers;  // likewise
    std::optional<Violation> violation;

    // lookups
    [[nodiscard]] KnownJob* find(JobId id);
    [[nodiscard]] KnownAttempt* find(AttemptId id);
    [[nodiscard]] KnownWorker* find(WorkerId id);
    [[nodiscard]] KnownLane* find(LaneId id);
    [[nodiscard]] KnownPool* find(PoolId id);
    [[nodiscard]] KnownPool& pool_of(const KnownWorker& worker) { return pools[worker.pool.value]; }
    [[nodiscard]] KnownLane& lane_of(const KnownWorker& worker) { return lanes[worker.lane.value]; }
    [[nodiscard]] bool is_owned(const KnownWorker& worker) const {
        return settings.pools[lanes[worker.lane.value].pool.value].ownership == Ownership::owned;
    }
    [[nodiscard]] const LaneView& seen_lane(LaneId id) const { return seen.lanes[id.value]; }
    [[nodiscard]] const PoolView& seen_pool(PoolId id) const { return seen.pools[id.value]; }
    [[nodiscard]] const LaneView& lane_before(LaneId id) const {
        return turn > 1 ? before.lanes[id.value] : seen.lanes[id.value];
    }
    [[nodiscard]] const PoolView& pool_before(PoolId id) const {
        return turn > 1 ? before.pools[id.value] : seen.pools[id.value];
    }
    [[nodiscard]] bool was_current(const KnownWorker& worker) const {
        return lane_before(worker.lane).current == worker.id;
    }

    // capacity (ledger.cpp): as the worker says, or as its pool says until the worker is ready
    [[nodiscard]] const KnownWorker* current_of(const KnownLane& lane) const;
    [[nodiscard]] std::uint32_t slots_of(const KnownLane& lane) const;
    [[nodiscard]] std::uint32_t free_slots(const KnownLane& lane) const;
    /// Returns how many lanes of the pool may carry lone rides at once: at most, or certainly.
    [[nodiscard]] std::uint64_t lone_rides_max(const KnownPool& pool) const;
    [[nodiscard]] std::uint64_t lone_rides_allowed(const KnownPool& pool) const;

    // jobs and attempts (ledger.cpp)
    void move(KnownJob& job, PoolId to);
    KnownJob& admit(const JobArrived& arrived, JobId id);
    void grow(KnownJob& job, Bytes total);
    void enqueue(KnownJob& job, Entry entry);
    void leave_queue(KnownJob& job);
    void ride(KnownJob& job, KnownWorker& worker, const SendJob& send);
    void leave_worker(KnownAttempt& attempt);
    void end(KnownJob& job, EndReason reason);
    void expect_end(KnownJob& job, EndReason reason);

    // clients (ledger_clients.cpp)
    [[nodiscard]] KnownLine& line_of(const KnownJob& job) {
        return pools[job.pool.value].lines[job.client];
    }
    [[nodiscard]] std::uint64_t clients_known() const;
    /// Returns how many clients share what there is if a job of this one comes.
    [[nodiscard]] std::uint64_t clients_sharing(ClientId with) const;
    [[nodiscard]] bool is_suspected(ClientId id) const;
    [[nodiscard]] Sure must_ride_alone(const KnownJob& job) const;
    void take_poison_of(ClientId id);
    /// Clients are not suspected any more for what they did to another model.
    void forgive_clients();
    /// True if several clients use the pool.
    [[nodiscard]] bool are_several_in(const KnownPool& pool) const;
    /// Counts a job that arrives, or no longer does (`change` is -1).
    void count_arriving(const KnownJob& job, int change);
    /// Returns whose turn it is, or nullopt if no line of the pool takes turns.
    [[nodiscard]] std::optional<NextTurn> next_turn(const KnownPool& pool) const;
    /// Returns the same among the fresh jobs that want this lane.
    [[nodiscard]] std::optional<NextTurn> next_turn_at(const KnownLane& lane);
    /// Returns how long the client of a job has waited for a turn: the smaller, the longer.
    [[nodiscard]] Instant rank_in_turn(const KnownJob& job);
    /// True if a retry waits, or a line that takes turns has jobs.
    [[nodiscard]] static bool has_next(const KnownPool& pool);
    void enter_line(KnownJob& job);
    void leave_line(const KnownJob& job);
    /// The job leaves its queue, for a slot of this lane or to ride alone: its client has its turn.
    void take_turn_of(const KnownJob& job, const KnownLane& lane);
    /// Nobody may have several turns while another client of its level waits for one.
    void count_turn_ahead_of_others(const KnownJob& job, const KnownLane& lane);
    /// Returns the first job of the lane's own queue, or nullptr if none may go.
    [[nodiscard]] KnownJob* next_pinned(const KnownLane& lane);
    /// Objects if another job should go to the lane.
    [[nodiscard]] Objection objection_to_order(const KnownJob& job, const KnownLane& lane);
    /// Sets those jobs apart whose turn has come.
    void settle_suspects();
    void release_line(const KnownJob& job);

    // room for bodies (ledger_clients.cpp)
    void begin_growth(KnownJob& job, Bytes total, bool is_complete);
    /// Records the growth, or, if there is no room for it, waits until other uploads have ended.
    void grow_or_wait(const KnownJob& job, Bytes total, bool is_complete);
    [[nodiscard]] bool has_room_for_growth();
    /// True if this is the slowest upload of the client that holds most.
    [[nodiscard]] bool may_be_crowded_out(const KnownJob& job) const;
    /// Records the growth, for which there must be room now.
    void settle_growth();
    void complete_body(KnownJob& job);

    // deaths (ledger_deaths.cpp)
    enum class Death : std::uint8_t { own, ordered };
    void die(KnownWorker& worker, Death death);
    void lose(KnownAttempt& attempt, bool was_alone, std::uint64_t in_case);
    /// Ends an attempt through nobody's fault: its job goes back to the queue if it may.
    void put_back(KnownAttempt& attempt, bool may_retry);
    void take_broken_link(KnownAttempt& attempt);
    void take_undelivered(KnownAttempt& attempt);
    void take_stale(KnownAttempt& attempt);
    void take_closed(KnownAttempt& attempt);
    /// The worker answered a probe: it is done with what was closed before that probe.
    void take_probe_answer(KnownWorker& worker, std::uint32_t probe);
    enum class At : std::uint8_t { work, rest };
    void crash(KnownWorker& worker, At place);
    /// Records that the engine must kill the worker in this turn.
    void demand_kill(KnownWorker& worker);
    /// Records that the engine must stop or kill the worker in this turn.
    void demand_end(KnownWorker& worker);
    /// Records that the engine must probe the worker in this turn if an exchange with it is closed or its
    /// connection was stale, unless an earlier probe may still be answered.
    void demand_probe(KnownWorker& worker);
    [[nodiscard]] bool has_served_well(const KnownWorker& worker) const;

    // cases (ledger_cases.cpp)
    [[nodiscard]] std::uint64_t case_of(KnownWorker& worker);
    /// Ends the suspicion against the job. If `is_acquitted` is false, its lane is cleared.
    void leave_case(KnownJob& job, bool is_acquitted);
    void close_case(std::uint64_t number);
    void drop_case_of(KnownWorker& worker);
    void clear_in_all_cases(const KnownLane& lane, Sure sure);
    /// Charges the lane with a death under jobs, certainly or perhaps.
    void charge(KnownLane& lane, Sure sure);
    /// A worker of the lane had a good run, certainly (`left` is no) or perhaps: the crashes for which it
    /// had failed count no longer.
    void end_parole(KnownLane& lane, Sure left);
    /// Decides whether the lane must fail in this turn, after a crash that certainly counts.
    void demand_failure(KnownLane& lane);
    [[nodiscard]] bool has_another_lane_answered(const KnownLane& lane, Instant since) const;
    [[nodiscard]] bool is_surely_last_that_served(const KnownLane& lane) const;
    [[nodiscard]] bool is_perhaps_last_that_served(const KnownLane& lane) const;
    /// Counts a death of the lane's worker under jobs, for which nobody is charged yet.
    void delay_uncharged(KnownWorker& worker, bool does_count);
    /// Takes the death of this case out of its lane's row, because a job explains it.
    void explain_death(std::uint64_t in_case);
    void note_good_run(KnownWorker& worker);
    void answered(KnownLane& lane);

    // poison (ledger_cases.cpp)
    [[nodiscard]] bool may_equal_poison(const KnownJob& job);
    [[nodiscard]] const KnownPoison* find_poison(KnownPool& pool, Digest digest);
    void take_poison(KnownJob& job, bool have_workers_exited);
    void take_digest_of_poison(JobId job, Digest digest);
    static void count_poison(KnownPool& pool);

    // waiting (ledger_waiting.cpp)
    /// Notes for each worker whether anybody waits for what is aboard.
    void look_for_waiting_jobs();
    /// Allows the engine to delay the next start of the lane, because of how the worker ended.
    void allow_restart_delay(KnownWorker& worker);
    void allow_shortage_delay(KnownWorker& worker);

    /// Must be called when a reload begins, which revives failed lanes.
    void begin_reload(KnownPool& pool);
    void drop_distrust(KnownWorker& worker);
    /// Allows the engine to count the crashes of the lane from zero again.
    void reset_crashes(KnownLane& lane);

    // trust (ledger_trust.cpp)
    void take_outcome(KnownAttempt& attempt, Verdict verdict);
    void take_vote(KnownWorker& worker, std::uint32_t group);
    [[nodiscard]] bool may_be_stuck(const KnownWorker& worker) const;
    [[nodiscard]] bool may_prove_again(const KnownWorker& worker) const;
    void take_vote_result(KnownWorker& voter, Sure outside);
    /// True if another lane certainly serves and its latest job certainly did not fail.
    [[nodiscard]] bool is_another_lane_fine(const KnownLane& lane) const;
    [[nodiscard]] bool may_another_lane_be_fine(const KnownLane& lane) const;
    /// True if the worker certainly serves, so that it must take every job that it can.
    [[nodiscard]] bool is_certainly_serving(const KnownWorker& worker) const;
    /// True if the worker may have been distrusted, but has rested for the longest possible time,
    /// so that it takes one job.
    [[nodiscard]] bool has_rested(const KnownWorker& worker) const;
    /// Returns the worker of the lane that certainly serves, or nullptr if there is none.
    [[nodiscard]] const KnownWorker* serving_worker(const KnownLane& lane) const;
    /// True if the lane certainly cannot serve again without help (lo), or may not be able to (hi).
    [[nodiscard]] bool is_off_lo(const KnownLane& lane) const;
    [[nodiscard]] bool is_off_hi(const KnownLane& lane) const;

    // the turn (ledger_events.cpp, ledger.cpp)
    void begin_turn(const Event& what, Instant when, std::span<const Action> actions);
    void end_turn();
    void take(const Event& what);

    void complain(std::string_view invariant, std::string detail);
};

/// True if a lane in this state cannot serve again without help.
[[nodiscard]] constexpr bool is_off(LaneState state) {
    return state == LaneState::drained || state == LaneState::failed ||
           state == LaneState::quarantined;
}

/// True if a reload revives this lane, because newer code may give right answers.
[[nodiscard]] constexpr bool is_off_for_wrong_answers(const LaneView& lane) {
    return lane.state == LaneState::quarantined &&
           (lane.reason == Reason::proof_failed || lane.reason == Reason::disagrees);
}

template <class Thing>
[[nodiscard]] bool is_among(const std::vector<Thing>& things, const Thing& thing) {
    return std::ranges::find(things, thing) != things.end();
}

/// Prints an id as traces do: the place, and how often that place was used before.
template <class Tag>
[[nodiscard]] std::string show(Id<Tag> id) {
    if (id.is_none()) return "-";
    const std::uint64_t uses = id.value >> 32;
    std::string text = std::to_string(id.value & 0xFFFF'FFFF);
    return uses == 0 ? text : text + "'" + std::to_string(uses);
}
[[nodiscard]] std::string show(Duration duration);

/// The shortest and the longest time that a delay of this length can take with its jitter.
[[nodiscard]] constexpr Duration jittered_min(Duration delay) { return delay / 4 * 3; }
[[nodiscard]] constexpr Duration jittered_max(Duration delay) { return delay / 4 * 5 + 4ns; }

}  // namespace turnpike::sim
