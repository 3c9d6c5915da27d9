#include "core/restart.h"

#include <algorithm>

#include "core/state.h"

namespace turnpike::restart {

namespace {

constexpr std::uint32_t proofs_failed_max = 2;

/// Returns a delay that doubles with each level, ±25 %, and raises the level.
Duration delay(State& s, const PoolSettings& settings, std::uint32_t& level) {
    Duration plain = settings.restart_delay_min;
    for (std::uint32_t i = 0; i < level && plain < settings.restart_delay_max; ++i) plain *= 2;
    plain = std::min(plain, settings.restart_delay_max);
    if (plain < settings.restart_delay_max) ++level;
    return plain * s.random.between(750, 1250) / 1000;
}

void postpone(State& s, Lane& lane, const Worker& worker) {
    const PoolSettings& settings = s.pool_of(lane).settings;
    if (worker.serving_since != never && s.now - worker.serving_since >= settings.restart_good_run)
        lane.restart.delay_level = 0;
    lane.restart.not_before = later(s.now, delay(s, settings, lane.restart.delay_level));
}

void note_crash(const State& s, Lane& lane) {
    lane.restart.crashes[lane.restart.crash_count++ % crash_limit_max] = s.now;
}

/// True if the latest crash was one too many within the window.
bool has_crashed_too_often(const State& s, const Lane& lane) {
    const Restart& history = lane.restart;
    const PoolSettings& settings = s.pool_of(lane).settings;
    if (settings.ownership == Ownership::attached || history.crash_count < settings.crash_limit)
        return false;
    const Instant first =
        history.crashes[(history.crash_count - settings.crash_limit) % crash_limit_max];
    return s.now - first <= settings.crash_window;
}

/// True if this end of a worker counts as a crash.
bool is_crash(Reason why) {
    return why == Reason::exited || why == Reason::unhealthy || why == Reason::misbehaved ||
           why == Reason::load_silent || why == Reason::not_answering ||
           why == Reason::proof_silent;
}

}  // namespace

void after(State& s, Lane& lane, const Worker& worker, Reason why) {
    lane.restart.not_before = s.now;
    lane.restart.why = why;
    if (worker.generation != s.pool_of(lane).good) return;  // the good generation replaces it
    const bool was_answer_wrong = why == Reason::proof_failed || why == Reason::disagrees;
    const bool is_owned = s.pool_of(lane).settings.ownership == Ownership::owned;
    if (lane.proofs_failed >= proofs_failed_max && is_owned)
        return lane::turn_off(s, lane, LaneMode::quarantined,
                              was_answer_wrong ? why : Reason::disagrees);
    if (was_answer_wrong) {
        postpone(s, lane, worker);
    } else if (is_crash(why)) {
        const bool may_newer_code_help = s.pool_of(lane).reload.stage != ReloadStage::idle;
        note_crash(s, lane);
        if (has_crashed_too_often(s, lane) && !may_newer_code_help)
            return lane::turn_off(s, lane, LaneMode::failed, Reason::crashed_too_often);
        postpone(s, lane, worker);
    }
}

Duration rest(State& s, Lane& lane) {
    return delay(s, s.pool_of(lane).settings, lane.restart.rest_level);
}

void clear_history(State& s, Lane& lane) {
    lane.restart = {};
    lane.restart.not_before = s.now;
    lane.proofs_failed = 0;
}

}  // namespace turnpike::restart
