#include "serve/lane_lines.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/span_text.h"
#include "telemetry/lane_words.h"
#include "telemetry/start_phases.h"
#include "terminal/safe_text.h"

namespace turnpike {
namespace {

constexpr std::size_t line_shown_max = 200;  // length of a worker's line outside the block
constexpr std::size_t place_shown_max = 40;  // so that a long URL leaves room for the state

bool is_attached(const LaneFacts& facts) { return !facts.worker.empty(); }

/// Returns "GPU 0" or "GPUs 0,1". Empty if the lane has no GPU.
std::string gpus_text(const LaneFacts& facts) {
    std::string numbers;
    for (const GpuFacts& gpu : facts.gpus)
        numbers += (numbers.empty() ? "" : ",") +
                   (gpu.index ? std::to_string(*gpu.index) : sanitized(gpu.uuid));
    if (numbers.empty()) return "";
    return (facts.gpus.size() == 1 ? "GPU " : "GPUs ") + numbers;
}

std::string place_of(const LaneFacts& facts) {
    if (facts.gpus.empty()) return is_attached(facts) ? sanitized(facts.worker) : "CPU";
    const std::string& name = facts.gpus.front().name;
    return gpus_text(facts) + (name.empty() ? "" : " " + sanitized(name));
}

std::string_view state_of(const LaneSnapshot& lane) {
    return lane.reason == Reason::worker_away ? "waiting" : name_of(lane.state);
}

/// Returns "40 % layers". Empty if the worker does not report progress.
std::string text_of(const std::optional<LoadNews>& news) {
    if (!news) return "";
    std::string text = sanitized(news->text);
    if (!news->permille) return text;
    return fmt::format("{} %{}{}", *news->permille / 10, text.empty() ? "" : " ", text);
}

/// Returns what the lane's worker says, or what is wrong with the lane.
std::string detail_of(const LaneSnapshot& lane) {
    if (is_serving(lane.state)) return "";
    if (is_coming_up(lane.state) && lane.facts.now.trouble.is_none()) {
        if (std::string said = text_of(lane.facts.now.loading); !said.empty()) return said;
        if (!lane.facts.now.last_line.empty()) return sanitized(lane.facts.now.last_line);
    }
    const std::string next = next_try_words(lane.next_try);
    const std::string why =
        sanitized(lane.facts.now.trouble.is_none() ? std::string(words_for(lane.reason))
                                                   : text_of(lane.facts.now.trouble));
    return next + (next.empty() || why.empty() ? "" : ": ") + why;
}

using Parts = std::array<std::string, 5>;

Parts parts_of(const LaneSnapshot& lane) {
    return {fmt::format("lane {}", lane.lane), first_columns(place_of(lane.facts), place_shown_max),
            std::string(state_of(lane)), span_text(lane.time), detail_of(lane)};
}

std::array<std::size_t, 5> widths_of(const std::vector<Parts>& lines) {
    std::array<std::size_t, 5> widths{};
    for (const Parts& line : lines)
        for (std::size_t i = 0; i + 1 < line.size(); ++i)  // the last part is not padded
            widths[i] = std::max(widths[i], columns_of(line[i]));
    return widths;
}

/// Leaves the last column free: terminals differ in what they do after a character is written
/// there.
std::string cut(std::string_view line, std::size_t columns) {
    std::string text = first_columns(line, columns > 1 ? columns - 1 : 1);
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

std::vector<const LaneSnapshot*> fitting(std::span<const LaneSnapshot> lanes, std::size_t rows) {
    std::vector<const LaneSnapshot*> shown;
    for (const LaneSnapshot& lane : lanes)
        if (lanes.size() <= rows || !is_settled(lane.state)) shown.push_back(&lane);
    if (shown.size() > rows) shown.resize(rows);
    return shown;
}

}  // namespace

std::string breakdown_of(const StartTimes& start) {
    std::string text;
    for (const StartPhase& phase : phases_until_serving)
        if (const auto time = start.*phase.time)
            text += fmt::format("{}{} {}", text.empty() ? "" : " + ", phase.word, span_text(*time));
    return text.empty() ? "" : fmt::format(" ({}{})", start.is_warm ? "warm: " : "", text);
}

bool is_settled(LaneState state) { return !is_coming_up(state) && state != LaneState::backoff; }

std::string lane_block(std::span<const LaneSnapshot> lanes, Screen screen) {
    // One row is for the cursor, one for the count of lanes that do not fit.
    const std::size_t rows = std::max<std::size_t>(screen.rows, 3) - 2;
    const std::vector<const LaneSnapshot*> shown = fitting(lanes, rows);
    std::vector<Parts> lines;
    for (const LaneSnapshot* lane : shown) lines.push_back(parts_of(*lane));
    const auto widths = widths_of(lines);
    std::string block;
    for (const Parts& line : lines) {
        std::string text;
        for (std::size_t i = 0; i < line.size(); ++i)
            text += (i == 0 ? "" : "  ") + padded(line[i], widths[i]);
        block += cut(text, screen.columns) + '\n';
    }
    if (shown.size() < lanes.size())
        block +=
            cut(fmt::format("and {} more", lanes.size() - shown.size()), screen.columns) + '\n';
    return block;
}

std::string serving_text(const LaneSnapshot& lane) {
    std::string where = gpus_text(lane.facts);
    if (!where.empty())
        where = " on " + where;
    else if (is_attached(lane.facts))
        where = ", " + sanitized(lane.facts.worker) + ",";
    return fmt::format("lane {} serves{} after {}{}", lane.lane, where, span_text(lane.time),
                       breakdown_of(lane.facts.now.start));
}

std::string loading_text(const LaneSnapshot& lane) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(lane.time);
    const std::string detail = shortened(detail_of(lane), line_shown_max);
    return fmt::format("lane {} {} for {} s{}{}", lane.lane, state_of(lane), seconds.count(),
                       detail.empty() ? "" : ": ", detail);
}

}  // namespace turnpike
