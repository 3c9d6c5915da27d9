// A pool: the lanes that serve the same model, and the queue before them.
#pragma once

#include <array>
#include <cstdint>

#include "core/pace.h"
#include "core/queue.h"
#include "core/settings.h"
#include "core/timers.h"
#include "core/view.h"
#include "core/words.h"

namespace turnpike {

/// The job that must ride alone, and the lane kept for it.
struct LoneRide {
    LaneId lane;  // none: no lane is reserved
    JobId job;
    AttemptId attempt;  // none: it still waits for the lane to empty
};

/// What placement compares, kept dense: with all lanes free, each arrival looks at every one of
/// them.
struct PlacementKey {
    Instant last_job = Instant::min();
    std::uint32_t slots_free = 0;
};

struct ReloadRequest {
    Generation generation;  // none: nothing is wanted
    ReloadKind kind = ReloadKind::beside;
};

struct Reload {
    Generation generation;  // under way; none: no reload
    bool is_good = false;   // one lane serves it; the others follow
    LaneId trial;           // in_place: the lane that goes first
    bool has_trial_ended = false;
};

struct Pool {
    PoolId id;
    PoolSettings settings;
    std::uint64_t first_lane = 0;  // its lanes are neighbours in State::lanes
    std::uint32_t lanes_on = 0;
    std::uint64_t open_lanes = 0;  // bit n: its n-th lane takes jobs
    std::array<PlacementKey, lanes_max> placement_keys;

    Queue queue;
    Queue lone_riders;
    std::uint64_t queued = 0;  // in these and in its lanes' queues
    std::uint64_t queued_for_lanes = 0;
    std::uint64_t arriving = 0;  // without asides
    std::uint64_t running = 0;
    LoneRide lone_ride;

    Pace pace;
    Counts counts;

    Generation good{1};    // what every start uses
    Generation newest{1};  // that was ever asked for
    Reload reload;
    ReloadRequest reload_waiting;  // asked for, not begun

    Timer proof_timer;
    WorkerId periodic_proof;  // one lane of a pool at a time
    bool needs_proof_schedule = false;
    bool is_majority_missing = false;
    bool did_latest_have_example = false;  // so said the worker that became ready last

    bool is_touched = false;

    [[nodiscard]] bool has_proof() const { return settings.proof != ProofKind::none; }
};

}  // namespace turnpike
