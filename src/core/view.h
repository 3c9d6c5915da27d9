// What can be seen of the engine: states and counts, copied out on request.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "core/words.h"

namespace turnpike {

struct Counts {
    std::uint64_t finished = 0;
    std::uint64_t failed = 0;
    std::uint64_t timed_out = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t refused = 0;

    constexpr std::uint64_t& of(Outcome outcome) {
        switch (outcome) {
            case Outcome::finished: return finished;
            case Outcome::failed: return failed;
            case Outcome::timed_out: return timed_out;
            case Outcome::cancelled: return cancelled;
            case Outcome::refused: return refused;
        }
        return failed;
    }
    friend constexpr bool operator==(const Counts&, const Counts&) = default;
};

struct LaneView {
    LaneId lane;
    PoolId pool;
    LaneState state = LaneState::starting;
    Reason reason = Reason::none;
    WorkerId current;          // none: no worker
    WorkerId other;            // the next worker of a reload, or the last one finishing its jobs
    Generation generation;     // of `current`
    std::uint32_t aboard = 0;  // attempts on both workers, asides not counted
    std::uint32_t asides = 0;
    std::uint32_t slots = 1;  // of its current worker; without one: as the pool says
    std::uint32_t slots_free = 0;
    std::uint32_t batch = 1;     // likewise
    bool can_take_jobs = false;  // would take a job of the queue now
    bool is_reserved = false;    // kept for a job that must ride alone
    std::uint64_t finished = 0;
    std::uint64_t failed = 0;
    std::uint64_t restarts = 0;
    std::uint64_t queued_for_it = 0;  // jobs that asked for this lane
};

struct PoolView {
    PoolId pool;
    std::uint64_t arriving = 0;
    std::uint64_t queued = 0;
    std::uint64_t running = 0;
    Duration oldest_wait = Duration::zero();
    Duration expected_wait = Duration::zero();  // of a job that came now
    Duration usual_run = Duration::zero();
    Generation good;         // what every start uses
    Generation reloading;    // none: no reload
    bool has_proof = false;  // of the pool, or by an example of its workers
    bool is_majority_missing = false;
    Counts counts;
};

struct View {
    std::vector<PoolView> pools;
    std::vector<LaneView> lanes;
    Bytes bytes_held;
    std::uint64_t jobs = 0;      // live
    std::uint64_t attempts = 0;  // live, and those nobody waits for any more
    std::uint64_t workers = 0;
    bool is_shutting_down = false;
};

enum class JobState : std::uint8_t { arriving, queued, running };

struct JobView {
    JobState state = JobState::arriving;
    PoolId pool;
    LaneId lane;  // where it runs
    std::uint32_t attempts = 0;
    Duration since = Duration::zero();  // in this state
};

}  // namespace turnpike
