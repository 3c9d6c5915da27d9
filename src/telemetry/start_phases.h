// The phases of a worker's start, in the order in which they happen. The lane's log, the terminal,
// the status JSON and `turnpike status` all show them from this one table.
//
//   for (const StartPhase& phase : phases_until_serving)
//       if (start.*phase.time) print(phase.word, *(start.*phase.time));
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/time.h"
#include "telemetry/lane_facts.h"

namespace turnpike {

struct StartPhase {
    enum class Workers : std::uint8_t { all, http, native };

    std::string_view key;   // the member of `start` in the status JSON
    std::string_view word;  // what people read
    std::optional<Duration> StartTimes::* time;
    Workers workers = Workers::all;  // whose starts have this phase
};

inline constexpr std::array<StartPhase, 6> start_phases{
    {{"spawn_ms", "spawn", &StartTimes::spawn},
     {"listen_ms", "listen", &StartTimes::listen, StartPhase::Workers::http},
     {"import_ms", "import", &StartTimes::import, StartPhase::Workers::native},
     {"load_ms", "load", &StartTimes::load},
     {"proof_ms", "proof", &StartTimes::proof},
     {"first_job_ms", "first job", &StartTimes::first_job}}};

/// All phases except the first job, which runs when the worker serves already.
inline constexpr std::span<const StartPhase> phases_until_serving =
    std::span(start_phases).first(start_phases.size() - 1);
inline constexpr const StartPhase& first_job_phase = start_phases.back();

}  // namespace turnpike
