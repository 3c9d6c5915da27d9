// `turnpike logs`: shows the gate's /-/lanes/N/log to people, for one lane or for all.
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
    std::string time;  // as the gate writes it; sorts as text
    std::string stream;
    std::string text;  // as the worker printed it, not sanitized
};

/// What /-/lanes/N/log answered.
struct LogPage {
    std::size_t lane = 0;
    std::uint64_t newest = 0;
    std::vector<LaneLogLine> lines;
};

[[nodiscard]] std::expected<LogPage, std::string> parse_log_page(std::string_view json);

/// Returns the numbers of the lanes in /-/status.
[[nodiscard]] std::expected<std::vector<std::size_t>, std::string> lanes_of(
    std::string_view status_json);

/// Puts a notice in front of the page's lines if lines are missing between the page and number
/// `seen`, the last one that was shown.
void add_gap_notice(LogPage& page, std::uint64_t seen);

/// Returns the `last` latest lines of all pages, by time. The lines of a single lane keep their
/// order.
[[nodiscard]] std::vector<LaneLogLine> merged(std::vector<LogPage> pages, std::size_t last);

struct LogStyle {
    TextStyle text = {};
    bool names_lanes = false;  // each line begins with "lane 0 │ "
};

/// Returns the lines without anything that a terminal would obey.
[[nodiscard]] std::string lines_text(const std::vector<LaneLogLine>& lines, const LogStyle& style);

/// Returns one JSON object per line.
[[nodiscard]] std::string lines_json(const std::vector<LaneLogLine>& lines);

}  // namespace turnpike
