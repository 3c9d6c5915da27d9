// How lanes come up, as text for people: a line each, for a block that is drawn anew while they load,
// and a sentence when one serves. Nothing is printed here.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/time.h"
#include "core/words.h"
#include "telemetry/lane_facts.h"
#include "terminal/terminal.h"

namespace turnpike {

struct LiveLane {
    std::size_t lane = 0;
    const LaneFacts& facts;
    LaneState state = LaneState::starting;
    Reason reason = Reason::none;
    Duration time{};  // since its start began; of a lane that serves: until it did
};

/// Whether there is nothing more to wait for.
[[nodiscard]] bool is_settled(LaneState state);

/// "lane 0  GPU 0 NVIDIA H200  loading  3.2 s  <its last line>" and a newline for each lane, none
/// wider than the screen. If there are too many for it, those that are settled are left out, then the
/// rest is counted.
[[nodiscard]] std::string live_block(std::span<const LiveLane> lanes, Screen screen);

/// "lane 0 serves on GPU 0 after 4.2 s (spawn 3 ms + listen 3.9 s + load 0.2 s + proof 50 ms)"
[[nodiscard]] std::string serving_text(const LiveLane& lane);

/// " (spawn 3 ms + import 40 ms + load 0.2 s)"; empty: nothing of it is known.
[[nodiscard]] std::string breakdown_of(const StartTimes& start);

/// "lane 0 loading for 20 s: <its last line>"
[[nodiscard]] std::string loading_text(const LiveLane& lane);

}  // namespace turnpike
