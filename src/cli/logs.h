// `turnpike logs`: the gate's /-/lanes/N/log for people, of one lane or of all by time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "terminal/table.h"

namespace turnpike {

struct LaneLogLine {
    std::size_t lane = 0;
    std::uint64_t number = 0;
    std::string time;  // as the gate says it; sorts
    std::string stream;
    std::string text;  // as it came
};

/// What /-/lanes/N/log answered.
struct LogPage {
    std::size_t lane = 0;
    std::uint64_t newest = 0;
    std::vector<LaneLogLine> lines;
};

[[nodiscard]] std::expected<LogPage, std::string> parse_log_page(std::string_view json);

/// The numbers in "lanes" of /-/status.
[[nodiscard]] std::expected<std::vector<std::size_t>, std::string> lanes_of(
    std::string_view status_json);

/// In front of a page's lines, if some are missing between it and the number that was seen last.
void add_gap_notice(LogPage& page, std::uint64_t seen);

/// The last of all pages' lines, by time; of one lane in its order.
[[nodiscard]] std::vector<LaneLogLine> merged(std::vector<LogPage> pages, std::size_t last);

struct LogStyle {
    TextStyle text = {};
    bool names_lanes = false;  // "lane 0 │ " in front
};

/// With nothing in it that a terminal obeys.
[[nodiscard]] std::string lines_text(const std::vector<LaneLogLine>& lines, const LogStyle& style);

/// An object per line.
[[nodiscard]] std::string lines_json(const std::vector<LaneLogLine>& lines);

}  // namespace turnpike
