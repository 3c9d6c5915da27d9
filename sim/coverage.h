// What happened in the runs: how often each event, action, end of a job, state and reason occurred.
// A value that never occurs shows that a fault or a scenario is missing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "core/action.h"
#include "core/event.h"
#include "core/view.h"
#include "core/words.h"

namespace turnpike::sim {

template <class Enum, Enum Last>
using Tally = std::array<std::uint64_t, static_cast<std::size_t>(std::to_underlying(Last)) + 1>;

struct Coverage {
    std::array<std::uint64_t, std::variant_size_v<Event>> events{};
    std::array<std::uint64_t, std::variant_size_v<Action>> actions{};
    Tally<Verdict, Verdict::shortage> verdicts{};
    Tally<EndReason, EndReason::answer_lost> ended{};
    Tally<EndReason, EndReason::answer_lost> refused{};
    Tally<LaneState, LaneState::quarantined> states{};
    Tally<Reason, Reason::proof_due> lane_reasons{};  // in ReportLane
    Tally<Reason, Reason::proof_due> end_reasons{};   // in StopWorker and KillWorker
    Tally<ReloadEnd, ReloadEnd::superseded> reloads{};

    void add(const Event& event, std::span<const Action> actions_of_it);
    void add(const View& view);
    void add(const Coverage& other);
};

/// Returns a table of each value that can occur, how often it did, and in how many scenarios. At
/// the end it lists the values that never occurred.
[[nodiscard]] std::string table_of(std::span<const Coverage> by_scenario);

}  // namespace turnpike::sim
