// Counts what happened, and prints the table.
#include "sim/coverage.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

namespace turnpike::sim {

namespace {

template <class Tallied, class Enum>
void count(Tallied& tally, Enum value) {
    ++tally.at(static_cast<std::size_t>(std::to_underlying(value)));
}

template <class... Kinds>
constexpr auto names_in(std::variant<Kinds...>*) {
    return std::array<std::string_view, sizeof...(Kinds)>{Kinds::name...};
}

/// Calls `visit(group, names, tally)` for each group of counts.
void each_tally(Coverage& coverage, auto&& visit) {
    const auto names_of = []<class Enum>(Enum, std::size_t size) {
        std::vector<std::string_view> names;
        for (std::size_t index = 0; index < size; ++index)
            names.push_back(name_of(static_cast<Enum>(index)));
        return names;
    };
    static constexpr auto events = names_in(static_cast<Event*>(nullptr));
    static constexpr auto actions = names_in(static_cast<Action*>(nullptr));
    visit("event", std::vector<std::string_view>(events.begin(), events.end()), coverage.events);
    visit("action", std::vector<std::string_view>(actions.begin(), actions.end()),
          coverage.actions);
    visit("verdict", names_of(Verdict{}, coverage.verdicts.size()), coverage.verdicts);
    visit("job ended", names_of(EndReason{}, coverage.ended.size()), coverage.ended);
    visit("refused", names_of(EndReason{}, coverage.refused.size()), coverage.refused);
    visit("lane state", names_of(LaneState{}, coverage.states.size()), coverage.states);
    visit("lane reason", names_of(Reason{}, coverage.lane_reasons.size()), coverage.lane_reasons);
    visit("worker ended", names_of(Reason{}, coverage.end_reasons.size()), coverage.end_reasons);
    visit("reload", names_of(ReloadEnd{}, coverage.reloads.size()), coverage.reloads);
}

bool can_refuse(EndReason reason) {
    return reason == EndReason::shutting_down || reason == EndReason::lane_unknown ||
           reason == EndReason::no_lane || reason == EndReason::queue_full ||
           reason == EndReason::arrivals_full || reason == EndReason::bytes_full ||
           reason == EndReason::lane_queue_full || reason == EndReason::client_limit;
}

/// True if the value can occur in its group. Some reasons only refuse arrivals and never end a job;
/// some only explain a wait and never end a worker.
bool can_occur(std::string_view group, std::size_t index) {
    const auto end = static_cast<EndReason>(index);
    const auto reason = static_cast<Reason>(index);
    if (group == "refused") return can_refuse(end);
    if (group == "job ended")
        return end != EndReason::rate_exceeded && end != EndReason::lane_unknown &&
               end != EndReason::queue_full && end != EndReason::arrivals_full &&
               end != EndReason::lane_queue_full;
    if (group == "worker ended")
        return reason != Reason::none && reason < Reason::crashed_too_often;
    return true;
}

struct Row {
    std::string_view group;
    std::string_view value;
    std::uint64_t times = 0;
    std::uint64_t scenarios = 0;
    bool is_possible = true;
};

std::vector<Row> rows_of(Coverage coverage) {
    std::vector<Row> rows;
    each_tally(coverage, [&](std::string_view group, const auto& names, const auto& tally) {
        for (std::size_t index = 0; index < tally.size(); ++index)
            rows.push_back({.group = group,
                            .value = names[index],
                            .times = tally[index],
                            .scenarios = tally[index] > 0 ? 1U : 0U,
                            .is_possible = can_occur(group, index)});
    });
    return rows;
}

}  // namespace

void Coverage::add(const Event& event, std::span<const Action> actions_of_it) {
    ++events[event.index()];
    if (const auto* ended_attempt = std::get_if<AttemptEnded>(&event))
        count(verdicts, ended_attempt->verdict);
    for (const Action& action : actions_of_it) {
        ++actions[action.index()];
        if (const auto* job = std::get_if<EndJob>(&action)) count(ended, job->reason);
        if (const auto* job = std::get_if<RefuseJob>(&action)) count(refused, job->reason);
        if (const auto* lane = std::get_if<ReportLane>(&action)) count(lane_reasons, lane->reason);
        if (const auto* stop = std::get_if<StopWorker>(&action)) count(end_reasons, stop->reason);
        if (const auto* kill = std::get_if<KillWorker>(&action)) count(end_reasons, kill->reason);
        if (const auto* reload = std::get_if<ReportReload>(&action)) count(reloads, reload->end);
    }
}

void Coverage::add(const View& view) {
    for (const LaneView& lane : view.lanes) count(states, lane.state);
}

void Coverage::add(const Coverage& other) {
    std::vector<std::uint64_t*> sums;
    each_tally(*this, [&](std::string_view, const auto&, auto& tally) {
        for (std::uint64_t& sum : tally) sums.push_back(&sum);
    });
    std::size_t index = 0;
    for (const Row& row : rows_of(other)) *sums[index++] += row.times;
}

std::string table_of(std::span<const Coverage> by_scenario) {
    std::vector<Row> rows = rows_of(Coverage{});
    for (const Coverage& coverage : by_scenario) {
        const std::vector<Row> more = rows_of(coverage);
        for (std::size_t index = 0; index < rows.size(); ++index) {
            rows[index].times += more[index].times;
            rows[index].scenarios += more[index].scenarios;
        }
    }
    std::string text =
        fmt::format("{:<14}{:<22}{:>12} {:>10}\n", "what", "value", "times", "scenarios");
    std::string missing;
    for (const Row& row : rows) {
        if (row.times == 0 && !row.is_possible) continue;
        fmt::format_to(std::back_inserter(text), "{:<14}{:<22}{:>12} {:>10}\n", row.group,
                       row.value, row.times, row.scenarios);
        if (row.times == 0)
            fmt::format_to(std::back_inserter(missing), "  {}: {}\n", row.group, row.value);
    }
    return text + (missing.empty() ? "everything occurred\n" : "never occurred:\n" + missing);
}

}  // namespace turnpike::sim
