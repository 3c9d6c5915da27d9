// A pool: the lanes that serve the same model, and the queue in front of them.
#pragma once

#include <array>
#include <cstdint>

#include "core/pace.h"
#include "core/poison.h"
#include "core/queue.h"
#include "core/rounds.h"
#include "core/settings.h"
#include "core/timers.h"
#include "core/users.h"
#include "core/view.h"
#include "core/words.h"

namespace turnpike {

/// What placement compares between lanes. The keys lie side by side in memory, because each arrival
/// looks at every free lane.
struct PlacementKey {
    Instant last_job = Instant::min();
    std::uint32_t slots_free = 0;
};

struct ReloadRequest {
    Generation generation;  // none if nothing is requested
    ReloadKind kind = ReloadKind::beside;
};

/// core/reload.h shows the transitions.
enum class ReloadStage : std::uint8_t {
    idle,
    trying,     // no lane serves the new generation yet
    spreading,  // one lane serves it, so it is good; the others follow
};

struct Reload {
    ReloadStage stage = ReloadStage::idle;
    Generation generation;  // none while idle
    LaneId trial;           // with in_place: the lane that goes first
    bool has_trial_ended = false;
    bool is_trial_revived = false;  // the trial lane was off, and is on only for this reload
};

struct Pool {
    PoolId id;
    PoolSettings settings;
    std::uint64_t first_lane = 0;  // the lanes of a pool are neighbours in State::lanes
    std::uint32_t lanes_on = 0;
    std::uint64_t open_lanes = 0;  // bit n is set if the n-th lane takes jobs
    std::array<PlacementKey, lanes_max> placement_keys;

    Rounds rounds;
    Queue lone_riders;
    std::uint64_t queued = 0;           // in all of these and in the queues of its lanes
    std::uint64_t clients_waiting = 0;  // those that have a queued job
    std::uint64_t queued_for_lanes = 0;
    std::uint64_t arriving = 0;  // asides not counted
    std::uint64_t running = 0;
    std::uint32_t lanes_reserved = 0;  // for jobs that must ride alone
    Users users;

    Pace pace;
    Counts counts;
    PoisonMemory poisons;

    Generation good{1};    // the generation that new workers run
    Generation newest{1};  // the newest generation that was ever requested
    Reload reload;
    ReloadRequest reload_waiting;  // requested, not begun

    Timer proof_timer;
    WorkerId periodic_proof;  // the worker whose turn it is; one lane of a pool at a time
    bool needs_proof_schedule = false;
    bool is_majority_missing = false;
    bool did_latest_have_example = false;  // the worker that became ready last brought one

    bool is_touched = false;

    /// True if a reload is in progress or requested.
    [[nodiscard]] bool has_reload() const {
        return reload.stage != ReloadStage::idle || !reload_waiting.generation.is_none();
    }
    [[nodiscard]] bool has_proof() const { return settings.proof != ProofKind::none; }
};

}  // namespace turnpike
