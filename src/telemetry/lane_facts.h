// Facts about a lane that people want to see and on which no decision depends. The supervisor
// writes them, the gate shows them.
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
#include "telemetry/lane_trouble.h"

namespace turnpike {

/// True if a lane in this state has a worker that is loaded, proved and trusted.
[[nodiscard]] constexpr bool is_serving(LaneState state) {
    return state == LaneState::ready || state == LaneState::busy;
}

/// True if a worker is being started.
[[nodiscard]] constexpr bool is_coming_up(LaneState state) {
    return state == LaneState::starting || state == LaneState::loading ||
           state == LaneState::proving;
}

struct GpuFacts {
    std::optional<std::uint32_t> index;
    std::string uuid;
    std::string name;
    Bytes memory_total{};
    std::optional<Bytes> memory_used;  // by all processes; nullopt if not known yet
};

/// How long each part of the latest start took. A part that is not finished has no value.
struct StartTimes {
    std::optional<Duration> spawn;   // until the process ran
    std::optional<Duration> listen;  // from then until it listened; native workers have none
    std::optional<Duration> import;  // native workers only: from then until the model was imported
    std::optional<Duration> load;    // from then until it was healthy, or reported `ready`
    std::optional<Duration> proof;   // the first proof
    std::optional<Duration> first_job;  // how long the first job took; attached workers have none
    bool is_warm = false;               // forked from a process that has done the imports
};

/// What a native worker reports while it loads.
struct LoadNews {
    std::optional<std::uint16_t> permille;
    std::string text;
};

/// Facts about one worker of a lane.
struct WorkerFacts {
    WorkerId id;            // none if there is no such worker
    LaneTrouble trouble;    // the latest thing that went wrong; empty if nothing did
    std::int64_t pid = 0;   // of its main process; 0 if it does not run
    std::string last_exit;  // how the previous worker ended: "killed by SIGKILL"; empty if none
    std::string last_line;  // of its lane's log, while it starts
    StartTimes start;
    std::optional<LoadNews> loading;  // native workers only, while loading
    std::string sdk;                  // native workers only: the SDK that it reports
    std::string model_facts;          // native workers only: JSON about its model; may be empty
    Instant started_at = never;
    LaneProof proof;  // the latest one
};

struct LaneFacts {
    std::string worker;  // the URL of an attached worker; empty if we start it
    std::string remark;  // what people should change although it serves; usually empty
    std::vector<GpuFacts> gpus;
    std::string gpu;           // the same for the job log: "0", "0,1"; empty if none
    std::uint64_t proofs = 0;  // how many have ended on this lane
    WorkerFacts now;           // the current worker, or the last one if there is none
    WorkerFacts next;          // the worker that a reload starts beside it
    WorkerFacts past;          // the replaced worker, until it is gone

    /// Must be called when a worker starts. Returns its facts. The trouble and the last exit of the
    /// previous worker stay until there is news.
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
    /// Makes the next worker the current one.
    void switch_over() {
        past = std::move(now);
        now = std::exchange(next, {});
    }
};

}  // namespace turnpike
