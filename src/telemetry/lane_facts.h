// What people may want to know of a lane and no decision depends on. The supervisor writes it, the
// gate shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "core/action.h"
#include "core/words.h"
#include "telemetry/lane_proof.h"

namespace turnpike {

/// Whether a lane in this state has a worker that is loaded, proved and trusted.
[[nodiscard]] constexpr bool is_serving(LaneState state) {
    return state == LaneState::ready || state == LaneState::busy;
}

/// A start is under way.
[[nodiscard]] constexpr bool is_coming_up(LaneState state) {
    return state == LaneState::starting || state == LaneState::loading ||
           state == LaneState::proving;
}

struct GpuFacts {
    std::optional<std::uint32_t> index;
    std::string uuid;
    std::string name;
    Bytes memory_total{};
    std::optional<Bytes> memory_used;  // of all processes; none: nobody could tell yet
};

/// How long each part of the latest start took; none: not there yet.
struct StartTimes {
    std::optional<Duration> spawn;      // until its process ran
    std::optional<Duration> listen;     // from then until it listened; of native workers: none
    std::optional<Duration> import;     // of native workers: from then until the model was imported
    std::optional<Duration> load;       // from then until its health path answered, or it said so
    std::optional<Duration> proof;      // the first proof
    std::optional<Duration> first_job;  // how long the first job took; of attached workers: none
    bool is_warm = false;               // forked from a process that had imported
};

/// What a native worker tells while it loads.
struct LoadNews {
    std::optional<std::uint16_t> permille;
    std::string text;
};

/// Of one worker of a lane.
struct WorkerFacts {
    WorkerId id;            // none: there is no such worker
    std::string trouble;    // the latest thing that went wrong with it; empty: nothing
    std::int64_t pid = 0;   // of its main process; 0: it does not run
    std::string last_exit;  // how the worker before ended: "killed by SIGKILL"; empty: none did
    std::string last_line;  // of its lane's log, while it comes up
    StartTimes start;
    std::optional<LoadNews> loading;  // of a native worker that loads now
    std::string sdk;                  // of a native worker: what it says that it is made with
    std::string model_facts;          // … and a JSON object about its model; empty: none
    Instant started_at = never;
    LaneProof proof;  // the latest
};

struct LaneFacts {
    std::string worker;  // the URL of an attached worker; empty: one that we start
    std::string remark;  // what somebody should change although it serves; empty: nothing
    std::vector<GpuFacts> gpus;
    std::string gpu;           // the same for the job log: "0", "0,1"; empty: none
    std::uint64_t proofs = 0;  // that have ended on it
    WorkerFacts now;           // of its current worker, or of the last one if there is none
    WorkerFacts next;          // of a reload's, beside that
    WorkerFacts past;          // of the one that was replaced, until it is gone

    /// A start: what is known of the worker before stays until there is news.
    WorkerFacts& begin(const StartWorker& start) {
        WorkerFacts& facts = start.is_next ? next : now;
        if (start.is_next) next = {};
        facts = {.id = start.worker, .trouble = facts.trouble, .last_exit = facts.last_exit};
        return facts;
    }
    [[nodiscard]] WorkerFacts& of(WorkerId id) {
        if (next.id == id) return next;
        return now.id == id ? now : past;
    }
    /// The next one is the current one now.
    void switch_over() {
        past = std::move(now);
        now = std::exchange(next, {});
    }
};

}  // namespace turnpike
