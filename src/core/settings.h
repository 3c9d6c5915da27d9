// The settings that the engine gets at its construction: every limit and every wait, by name, with
// its default. The config module checks the bounds; the engine CHECKs only those it depends on.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "core/words.h"

namespace turnpike {

inline constexpr std::uint32_t lanes_max = 64;  // per pool
inline constexpr std::uint32_t slots_max = 1024;
inline constexpr std::uint32_t batch_max = 1024;
inline constexpr std::uint32_t crash_limit_max = 16;
inline constexpr std::uint32_t poisons_max = 64;  // remembered per pool
inline constexpr std::uint64_t clients_max = 16384;
inline constexpr std::uint32_t wanting_lane_max = 16;   // jobs that wait, or arrive, for one lane
inline constexpr std::uint32_t suspicious_poisons = 3;  // of one client, within suspicion_keep
inline constexpr Duration users_keep = 1min;            // how long a client counts as using a pool
inline constexpr Bytes announced_max = mebibyte;        // counted of a body before it has come

/// A start that a shortage prevented costs little, and the shortage may end at any time.
inline constexpr Duration shortage_delay_max = 5s;

struct PoolSettings {
    std::uint32_t lanes = 1;
    // Used for a worker that does not announce its own numbers in WorkerReady:
    std::uint32_t slots = 1;  // jobs (or batches) that run on a lane at once
    std::uint32_t batch = 1;  // jobs that may share a slot
    Ownership ownership = Ownership::owned;

    std::uint32_t queue_jobs_max = 1000;  // counts arriving and queued jobs
    Duration queue_wait_max = 1h;
    Duration age_step = 10s;  // waiting this much longer makes up for one priority level

    Duration job_timeout = 300s;
    CancelPolicy cancel = CancelPolicy::finish;
    Duration cancel_grace = 5s;
    Duration abandon_after = Duration::zero();  // zero means: by the rule for abandoned attempts
    bool may_retry = true;
    Duration poison_keep = 10min;
    std::uint32_t aside_max = 8;  // per lane

    Duration load_timeout = 30min;
    Duration stop_grace = 5s;      // between asking a worker to stop and killing it
    Duration kill_patience = 10s;  // between killing a worker and giving up on its lane

    Duration restart_delay_min = 200ms;
    Duration restart_delay_max = 30s;
    Duration restart_good_run = 60s;  // serving this long resets the delay
    std::uint32_t crash_limit = 5;    // within crash_window; attached lanes never fail
    Duration crash_window = 10min;
    Duration revive_every = 5min;  // how often a failed lane tries again

    Duration probe_every = 2s;
    Duration probe_timeout = 2s;  // a later answer does not count
    std::uint32_t probe_failures_max = 3;
    std::uint32_t fail_streak = 3;

    ProofKind proof = ProofKind::none;
    Duration proof_every = 10min;
    Duration proof_timeout = 300s;

    std::uint32_t slow_factor = 8;  // a job is slow if it runs this many times its usual time …
    Duration slow_min = 1s;         // … and at least this long
    std::uint32_t slow_samples_min = 8;
};

struct Settings {
    std::vector<PoolSettings> pools;
    Bytes bytes_max = gibibyte;           // bodies of all live jobs
    std::uint32_t arriving_max = 256;     // uploads in progress
    std::uint32_t load_parallel_max = 0;  // workers that may load at once; 0 means no limit
    Duration retry_after_min = 1s;
    Duration retry_after_max = 10min;
    // How long a client without another poison is suspected after several within this time:
    Duration suspicion_keep = 10min;
    std::uint64_t seed = 1;  // for the jitter of restart delays
};

}  // namespace turnpike
