#include "core/restart.h"

#include <algorithm>

#include "core/blame.h"
#include "core/poison.h"
#include "core/state.h"

namespace turnpike::restart {

namespace {

constexpr std::uint32_t proofs_failed_max = 2;
/// From this many deaths in a row on, the delay grows although nobody is charged.
constexpr std::uint32_t deaths_in_row_max = 3;

/// Returns the delay of this level, which doubles with each level, without jitter.
Duration plain_delay(const PoolSettings& settings, std::uint32_t level) {
    Duration plain = settings.restart_delay_min;
    for (std::uint32_t i = 0; i < level && plain < settings.restart_delay_max; ++i) plain *= 2;
    return std::min(plain, settings.restart_delay_max);
}

Duration jittered(State& s, Duration plain) { return plain * s.random.between(750, 1250) / 1000; }

void raise(const PoolSettings& settings, std::uint32_t& level) {
    if (plain_delay(settings, level) < settings.restart_delay_max) ++level;
}

bool has_run_well(const State& s, const PoolSettings& settings, const Worker* worker) {
    return worker != nullptr && worker->serving_since != never &&
           s.now - worker->serving_since >= settings.restart_good_run;
}

/// Waits before the next start. A crash of the lane makes the next wait longer.
void postpone(State& s, Lane& lane) {
    const PoolSettings& settings = s.pool_of(lane).settings;
    lane.restart.not_before =
        later(s.now, jittered(s, plain_delay(settings, lane.restart.delay_level)));
    raise(settings, lane.restart.delay_level);
}

bool has_another_lane_answered(State& s, const Lane& lane, Instant since) {
    bool has_answered = false;
    s.each_lane(s.pool_of(lane), [&](const Lane& other) {
        has_answered = has_answered || (other.id != lane.id && other.last_answer > since);
    });
    return has_answered;
}

/// Counts a death of the lane. Returns the row in which it counts.
std::uint64_t count_death(const State& s, Lane& lane) {
    if (lane.deaths_in_row++ == 0) lane.row_began = s.now, ++lane.row;
    return lane.row;
}

/// Waits after a death under jobs. The wait grows only if every job dies on this lane, while
/// another lane answers.
void postpone_uncharged(State& s, Lane& lane) {
    const PoolSettings& settings = s.pool_of(lane).settings;
    std::uint32_t level = lane.restart.delay_level;
    if (lane.deaths_in_row >= deaths_in_row_max &&
        has_another_lane_answered(s, lane, lane.row_began))
        level = std::max(level, lane.deaths_in_row - deaths_in_row_max + 1);
    lane.restart.not_before = later(s.now, jittered(s, plain_delay(settings, level)));
}

void note_crash(const State& s, Lane& lane) {
    lane.restart.crashes[lane.restart.crash_count++ % crash_limit_max] = s.now;
}

/// True if the latest crash was one too many within the window.
bool has_crashed_too_often(const State& s, const Lane& lane) {
    const Restart& history = lane.restart;
    const PoolSettings& settings = s.pool_of(lane).settings;
    if (history.is_on_parole) return true;
    if (history.crash_count < settings.crash_limit) return false;
    const Instant first =
        history.crashes[(history.crash_count - settings.crash_limit) % crash_limit_max];
    return s.now - first <= settings.crash_window;
}

/// True if this lane has served the good generation, and no other lane that is on has.
bool is_last_that_served(State& s, const Lane& lane) {
    const Pool& pool = s.pool_of(lane);
    bool has_another_served = false;
    s.each_lane(pool, [&](const Lane& other) {
        has_another_served =
            has_another_served ||
            (other.id != lane.id && other.served == pool.good && other.mode == LaneMode::on);
    });
    return lane.served == pool.good && !has_another_served;
}

/// True if the lane must fail now. While a reload is in progress, newer code may help.
bool must_fail(State& s, const Lane& lane) {
    const Pool& pool = s.pool_of(lane);
    return pool.settings.ownership == Ownership::owned && has_crashed_too_often(s, lane) &&
           pool.reload.stage == ReloadStage::idle && !is_last_that_served(s, lane);
}

/// True if this end of a worker counts as a crash, unless it died under jobs.
bool is_crash(Reason why) {
    return why == Reason::exited || why == Reason::unhealthy || why == Reason::misbehaved ||
           why == Reason::load_silent || why == Reason::not_answering ||
           why == Reason::proof_silent;
}

bool is_wrong_answer(Reason why) { return why == Reason::proof_failed || why == Reason::disagrees; }

/// Returns how the lanes of this pool show that their answers are wrong.
Reason wrong_answer_in(const Pool& pool) {
    return pool.settings.proof == ProofKind::agree ? Reason::disagrees : Reason::proof_failed;
}

void crashed(State& s, Lane& lane) {
    note_crash(s, lane);
    postpone(s, lane);
    if (must_fail(s, lane)) lane::turn_off(s, lane, LaneMode::failed, Reason::crashed_too_often);
}

/// Lets the lane start anew after a good run: the crashes for which it had failed count no longer.
void end_parole(Lane& lane) {
    if (!lane.restart.is_on_parole) return;
    lane.restart.is_on_parole = false;
    lane.restart.crash_count = 0;
}

}  // namespace

void after(State& s, Lane& lane, const Worker& worker, Reason why) {
    const Pool& pool = s.pool_of(lane);
    lane.restart.not_before = s.now;
    lane.restart.why = why;
    if (worker.generation != pool.good) return;  // the good generation replaces it
    const bool was_answer_wrong = is_wrong_answer(why);
    const bool is_owned = pool.settings.ownership == Ownership::owned;
    if (lane.proofs_failed >= proofs_failed_max && is_owned) {
        const bool may_newer_code_help = pool.reload.stage != ReloadStage::idle;
        if (!may_newer_code_help)
            return lane::turn_off(s, lane, LaneMode::quarantined,
                                  was_answer_wrong ? why : wrong_answer_in(pool));
        lane.proofs_failed = proofs_failed_max - 1;  // one more wrong answer of old code is enough
    }
    if (was_answer_wrong) return postpone(s, lane);
    if (!is_crash(why)) return;
    Case* it = s.cases.find(worker.open_case);
    if (it == nullptr) return count_death(s, lane), crashed(s, lane);
    if (!it->is_explained) it->row = count_death(s, lane);
    postpone_uncharged(s, lane);
}

Instant after_shortage(State& s, Lane& lane) {
    const PoolSettings& settings = s.pool_of(lane).settings;
    const Duration plain =
        std::min(plain_delay(settings, lane.restart.shortage_level), shortage_delay_max);
    raise(settings, lane.restart.shortage_level);
    return later(s.now, jittered(s, plain));
}

void note_good_run(State& s, Lane& lane, const Worker& worker) {
    if (!has_run_well(s, s.pool_of(lane).settings, &worker)) return;
    lane.restart.delay_level = 0;
    lane.deaths_in_row = 0;
    end_parole(lane);
}

void try_ended(State& s, Lane& lane, Reason why) {
    const bool is_refuted = is_wrong_answer(why) && lane.proofs_failed >= proofs_failed_max;
    lane::turn_off(s, lane, is_refuted ? LaneMode::quarantined : LaneMode::failed,
                   is_refuted ? why : lane.off_reason);
}

void charge(State& s, Lane& lane) {
    const PoolSettings& settings = s.pool_of(lane).settings;
    if (has_run_well(s, settings, lane.current)) end_parole(lane);
    note_crash(s, lane);
    raise(settings, lane.restart.delay_level);
    if (lane.mode == LaneMode::on && must_fail(s, lane))
        lane::turn_off(s, lane, LaneMode::failed, Reason::crashed_too_often);
}

void take_out_of_row(Lane& lane, std::uint64_t row) {
    if (row == lane.row && lane.deaths_in_row > 0) --lane.deaths_in_row;
}

void job_answered(State& s, Lane& lane) {
    lane.last_answer = s.now;
    lane.deaths_in_row = 0;
    poison::job_answered(s.pool_of(lane));
}

Duration rest(State& s, Lane& lane) {
    const PoolSettings& settings = s.pool_of(lane).settings;
    const Duration wait = jittered(s, plain_delay(settings, lane.restart.rest_level));
    raise(settings, lane.restart.rest_level);
    return wait;
}

void clear_history(State& s, Lane& lane) {
    lane.restart = {};
    lane.restart.not_before = s.now;
    lane.proofs_failed = 0;
    lane.deaths_in_row = 0;
    blame::forgive(s, lane);
}

}  // namespace turnpike::restart
