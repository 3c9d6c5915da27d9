// Describes in text how lanes start: a block with a line per lane, which is redrawn while the lanes
// load, and a sentence when a lane serves. Nothing is printed here.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/time.h"
#include "core/words.h"
#include "telemetry/lane_facts.h"
#include "terminal/terminal.h"

namespace turnpike {

struct LaneSnapshot {
    std::size_t lane = 0;
    const LaneFacts& facts;
    LaneState state = LaneState::starting;
    Reason reason = Reason::none;
    Duration next_try = Duration::zero();  // until a failed lane tries again; zero while it tries
    Duration time{};  // since the start began; for a lane that serves, how long the start took
};

/// True if the lane is not starting and will not start soon by itself.
[[nodiscard]] bool is_settled(LaneState state);

/// Returns "lane 0  GPU 0 NVIDIA H200  loading  3.2 s  <its last line>" and a newline for each
/// lane. No line is wider than the screen. If the screen has too few rows, settled lanes are left
/// out first; the last line then says how many lanes are not shown.
[[nodiscard]] std::string lane_block(std::span<const LaneSnapshot> lanes, Screen screen);

/// Returns "lane 0 serves on GPU 0 after 4.2 s (spawn 3 ms + listen 3.9 s + load 0.2 s + …)".
[[nodiscard]] std::string serving_text(const LaneSnapshot& lane);

/// Returns " (spawn 3 ms + import 40 ms + load 0.2 s)". Empty if no part is known.
[[nodiscard]] std::string breakdown_of(const StartTimes& start);

/// Returns "lane 0 loading for 20 s: <its last line>".
[[nodiscard]] std::string loading_text(const LaneSnapshot& lane);

}  // namespace turnpike
