// Which workers are trusted: outcomes, votes, and which workers certainly serve.
#include <algorithm>
#include <map>

#include "sim/ledger.h"

namespace turnpike::sim {

namespace {

bool is_failure(Verdict verdict) {
    return verdict == Verdict::model_failed || verdict == Verdict::non_finite ||
           verdict == Verdict::out_of_memory;
}
bool is_success(Verdict verdict) {
    return verdict == Verdict::answered || verdict == Verdict::bad_input;
}

bool serves(const LaneView& lane) {
    return lane.state == LaneState::ready || lane.state == LaneState::busy;
}

/// Records that the worker is certainly distrusted. It must rest or prove itself, and then takes
/// one job at a time.
void distrust(KnownWorker& worker, const PoolSettings& rules, Instant now, bool again) {
    if (worker.has_proof) worker.trust.needs_proof = true;
    if (!worker.has_proof || again)
        worker.trust.rests_until = now + jittered_min(rules.restart_delay_min);
    worker.trust.probation = Sure::yes;
    worker.trust.streak_lo = 0;
    worker.trust.streak_of_lo.clear();
}

}  // namespace

/// Records the outcome of an attempt. The rules leave open whether it counts if the attempt is an
/// aside or nobody waits for it.
void Ledger::take_outcome(KnownAttempt& attempt, Verdict verdict) {
    KnownWorker& worker = *attempt.worker;
    KnownLane& lane = lane_of(worker);
    const PoolSettings& rules = *pool_of(worker).settings;
    const bool does_count = attempt.job != nullptr && !attempt.is_aside && was_current(worker);
    KnownTrust& trust = worker.trust;
    if (verdict == Verdict::out_of_memory && worker.has_proof) {
        raise_to(worker.proof.needed, does_count ? Sure::yes : Sure::maybe);
    }
    if (is_success(verdict)) {
        trust.streak_lo = 0;
        trust.streak_of_lo.clear();
        trust.rests_until = now;
        trust.needs_proof = false;
        if (does_count) trust.streak_hi = 0, trust.streak_of_hi.clear();
        lower_to(trust.probation, does_count ? Sure::no : Sure::maybe);
        lower_to(lane.latest_failed, does_count ? Sure::no : Sure::maybe);
        return;
    }
    const bool is_only_client = !are_several_in(pool_of(worker));
    if (!is_failure(verdict) || (attempt.is_pinned && !is_only_client)) return;
    ++trust.streak_hi;
    trust.streak_of_hi.insert(attempt.client);
    // An attempt that was sent before the probation is no failure on probation.
    const bool was_aboard = trust.probation != Sure::no && attempt.sent <= trust.suspected_at;
    // If no other lane is fine, the model is to blame.
    const bool is_suspect = trust.streak_hi >= rules.fail_streak &&
                            (is_only_client || trust.streak_of_hi.size() > 1) &&
                            may_another_lane_be_fine(lane);
    if (is_suspect || trust.probation != Sure::no) {
        raise_to(trust.probation, Sure::maybe);
        trust.suspected_at = now;
        if (worker.has_proof) raise_to(worker.proof.needed, Sure::maybe);
    }
    if (!does_count) {
        raise_to(lane.latest_failed, Sure::maybe);
        return;
    }
    lane.latest_failed = Sure::yes;
    // A hold for a probe is stronger than distrust.
    const bool must_distrust = is_another_lane_fine(lane) && !is_late && worker.held == Sure::no;
    if (was_aboard) return;
    if (trust.probation == Sure::yes) {
        if (must_distrust)
            distrust(worker, rules, now, true);
        else
            trust.probation = Sure::maybe, trust.streak_lo = 0, trust.streak_of_lo.clear();
        return;
    }
    trust.streak_of_lo.insert(attempt.client);
    const bool is_of_enough = is_only_client || trust.streak_of_lo.size() > 1;
    if (++trust.streak_lo >= rules.fail_streak && is_of_enough && must_distrust)
        distrust(worker, rules, now, false);
}

bool Ledger::is_another_lane_fine(const KnownLane& lane) const {
    return std::ranges::any_of(pools[lane.pool.value].lanes, [&](const KnownLane& other) {
        return other.id != lane.id && other.latest_failed == Sure::no &&
               serving_worker(other) != nullptr;
    });
}

bool Ledger::may_another_lane_be_fine(const KnownLane& lane) const {
    return std::ranges::any_of(pools[lane.pool.value].lanes, [&](const KnownLane& other) {
        if (other.id == lane.id || other.latest_failed == Sure::yes) return false;
        return std::ranges::any_of(other.workers,
                                   [](const KnownWorker* worker) { return worker->has_loaded(); });
    });
}

bool Ledger::is_certainly_serving(const KnownWorker& worker) const {
    const KnownLane& lane = lanes[worker.lane.value];
    const PoolSettings& rules = *pools[worker.pool.value].settings;
    if (!worker.has_loaded() || worker.is_ending() || worker.kill_turn == turn) return false;
    if (lane.is_taken_out() || worker.retired != Sure::no || worker.held != Sure::no ||
        worker.past.is_unsettled)
        return false;
    if (worker.trust.probation != Sure::no && !has_rested(worker)) return false;
    if (worker.has_proof) {
        const KnownProof& proof = worker.proof;
        if (!proof.has_ever_passed() || proof.is_running() || proof.needed != Sure::no ||
            proof.is_asked || proof.has_failed)
            return false;
        if (now - proof.passed_at >= rules.proof_every) return false;
    }
    return !may_be_stuck(worker);
}

bool Ledger::may_be_stuck(const KnownWorker& worker) const {
    const Duration timeout = pools[worker.pool.value].settings->job_timeout;
    return std::ranges::any_of(worker.aboard, [&](const KnownAttempt* attempt) {
        return now - attempt->moved >= timeout || attempt->expired_lo != never;
    });
}

/// True if the worker takes a job even if it is on probation: it has no job, and its rest is over. The rest is
/// over when the longest rest is, or when the engine has said that the lane serves.
bool Ledger::has_rested(const KnownWorker& worker) const {
    const PoolSettings& rules = *pools[worker.pool.value].settings;
    const bool has_job = std::ranges::any_of(
        worker.aboard, [](const KnownAttempt* attempt) { return !attempt->is_aside; });
    if (has_job) return false;
    if (was_current(worker) && serves(lane_before(worker.lane)) && serves(seen_lane(worker.lane)))
        return worker.trust.suspected_at < now;
    return is_time_event && !worker.has_proof &&
           worker.trust.suspected_at + jittered_max(rules.restart_delay_max) <= now;
}

const KnownWorker* Ledger::serving_worker(const KnownLane& lane) const {
    const WorkerId current = seen_lane(lane.id).current;
    const PoolView& pool = seen_pool(lane.pool);
    const bool is_trying_new_code = !pool.reloading.is_none() && pool.reloading != pool.good;
    if (is_trying_new_code || is_off(seen_lane(lane.id).state)) return nullptr;
    for (const KnownWorker* worker : lane.workers)
        if (worker->id == current && worker->generation == pool.good &&
            is_certainly_serving(*worker))
            return worker;
    return nullptr;
}

bool Ledger::is_off_lo(const KnownLane& lane) const {
    return is_off(lane_before(lane.id).state) && is_off(seen_lane(lane.id).state);
}

bool Ledger::is_off_hi(const KnownLane& lane) const {
    const LaneState then = lane_before(lane.id).state;
    const LaneState state = seen_lane(lane.id).state;
    return lane.is_taken_out() || is_off(then) || is_off(state) || state == LaneState::draining;
}

/// True if the worker may have to prove itself again.
bool Ledger::may_prove_again(const KnownWorker& worker) const {
    const KnownProof& proof = worker.proof;
    return proof.is_running() || proof.needed != Sure::no || worker.trust.needs_proof ||
           proof.is_asked || worker.held != Sure::no || worker.trust.probation != Sure::no ||
           now - proof.passed_at >= pools[worker.pool.value].settings->proof_every;
}

/// Records a worker's vote. Counts the votes of all workers of its generation.
void Ledger::take_vote(KnownWorker& worker, std::uint32_t group) {
    struct Voter {
        KnownWorker* worker;
        bool certain;
    };
    struct Votes {
        std::uint32_t lo = 0;
        std::uint32_t hi = 0;
    };
    worker.proof.vote = group;
    std::vector<Voter> voters;
    std::map<std::uint32_t, Votes> groups;
    Votes all;
    // During a reload a worker may be retiring for several reasons that look the same from outside.
    const bool is_settled = pool_before(worker.pool).reloading.is_none();
    for (auto& [id, voter] : workers) {
        if (voter.pool != worker.pool || voter.generation != worker.generation ||
            !voter.proof.vote || voter.is_gone() ||
            (lane_before(voter.lane).state == LaneState::failed && !voter.past.is_try))
            continue;
        const bool leaving = voter.past.was_current && !was_current(voter);
        const bool certain = is_settled && !leaving && !voter.is_ending() &&
                             voter.retired == Sure::no && !lane_of(voter).outage.is_drained &&
                             !voter.past.is_unsettled && !may_prove_again(voter) &&
                             !may_be_stuck(voter);
        voters.push_back({.worker = &voter, .certain = certain});
        Votes& votes = groups[*voter.proof.vote];
        ++votes.hi, ++all.hi;
        if (certain) ++votes.lo, ++all.lo;
    }
    if (all.lo == all.hi && worker.generation == seen_pool(worker.pool).good) {
        const bool has_majority = std::ranges::any_of(
            groups, [&](const auto& entry) { return entry.second.hi * 2 > all.hi; });
        pools[worker.pool.value].majority =
            groups.size() > 1 && !has_majority ? Majority::missing : Majority::exists;
    }
    for (const auto& [voter, certain] : voters) {
        bool outside_lo = false;
        bool outside_hi = false;
        for (const auto& [other, votes] : groups) {
            if (other == *voter->proof.vote) continue;
            outside_lo = outside_lo || votes.lo * 2 > all.hi - (votes.hi - votes.lo);
            outside_hi = outside_hi || votes.hi * 2 > all.lo;
        }
        take_vote_result(*voter, outside_lo && certain ? Sure::yes
                                 : outside_hi          ? Sure::maybe
                                                       : Sure::no);
    }
    if (worker.retired == Sure::no)
        lane_of(worker).disagreements_row = lane_of(worker).proof_failures_row = 0;
}

/// Records whether the worker is outside a strict majority.
void Ledger::take_vote_result(KnownWorker& voter, Sure outside) {
    if (outside == Sure::no) return;
    KnownLane& lane = lane_of(voter);
    if (!voter.past.perhaps_disagreed) ++lane.disagreements_hi;
    voter.past.perhaps_disagreed = true;
    raise_to(voter.retired, outside);
    allow_restart_delay(voter);
    if (outside != Sure::yes) {
        lane.disagreements_row = 0;  // the worker may be inside, which clears the count
        return;
    }
    if (!was_current(voter) || voter.generation != pool_before(voter.pool).good) return;
    const bool is_reloading =
        !pool_before(voter.pool).reloading.is_none() || !seen_pool(voter.pool).reloading.is_none();
    if (++lane.disagreements_row >= 2 && pool_of(voter).settings->ownership == Ownership::owned &&
        !is_reloading)
        lane.outage.must_stay_down = true;
}

}  // namespace turnpike::sim
