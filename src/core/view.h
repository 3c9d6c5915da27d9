// The view of the engine: states and counts, copied on request.
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
    Duration next_try = Duration::zero();  // until a failed lane tries again; zero while it tries
    WorkerId current;                      // none if there is no worker
    WorkerId other;  // the next worker of a reload, or the previous one that finishes its jobs
    Generation generation;     // the generation of `current`
    std::uint32_t aboard = 0;  // attempts on both workers, asides not counted
    std::uint32_t asides = 0;
    std::uint32_t slots = 1;  // of its current worker, or the pool's number if there is none
    std::uint32_t slots_free = 0;
    std::uint32_t batch = 1;     // of its current worker, or the pool's number
    bool can_take_jobs = false;  // would take a job from the queue now
    bool is_reserved = false;    // for a job that must ride alone
    std::uint64_t finished = 0;
    std::uint64_t failed = 0;
    std::uint64_t restarts = 0;
    std::uint64_t queued_for_lane = 0;  // jobs that ask for this lane
};

struct PoolView {
    PoolId pool;
    std::uint64_t arriving = 0;
    std::uint64_t queued = 0;
    std::uint64_t running = 0;
    Duration oldest_wait = Duration::zero();
    Duration expected_wait = Duration::zero();  // of a job that arrives now, behind all others
    std::uint64_t clients_waiting = 0;          // clients that have a queued job
    Duration slot_time = Duration::zero();      // how long a job usually keeps a slot
    std::uint64_t slots_serving = 0;            // of lanes that serve; of all lanes if none does
    Duration usual_run = Duration::zero();
    Generation good;         // the generation that new workers run
    Generation reloading;    // none if there is no reload
    bool has_proof = false;  // the pool has one, or its workers brought an example
    bool is_majority_missing = false;
    Counts counts;
};

/// What one client has, in all pools.
struct ClientView {
    ClientId client;
    std::uint64_t uploads = 0;  // jobs that arrive, asides included
    std::uint64_t queued = 0;
    std::uint64_t running = 0;
    Bytes bytes;                // as many as are counted, of all its live jobs
    std::uint64_t refused = 0;  // since the engine knows it
    Duration oldest_wait = Duration::zero();
    bool is_suspected = false;  // its jobs ride alone, because several were poison

    friend constexpr bool operator==(const ClientView&, const ClientView&) = default;
};

struct View {
    std::vector<PoolView> pools;
    std::vector<LaneView> lanes;
    std::vector<ClientView> clients;  // by number; only filled by Engine::view_clients()
    Bytes bytes_held;
    std::uint64_t jobs = 0;      // alive
    std::uint64_t attempts = 0;  // running, including those that nobody waits for
    std::uint64_t workers = 0;
    bool is_shutting_down = false;
};

enum class JobState : std::uint8_t { arriving, queued, running };

struct JobView {
    JobState state = JobState::arriving;
    PoolId pool;
    LaneId lane;  // none unless it runs
    std::uint32_t attempts = 0;
    Duration since = Duration::zero();  // in this state
};

}  // namespace turnpike
