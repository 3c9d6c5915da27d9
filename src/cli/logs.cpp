#include "cli/logs.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/json_writer.h"
#include "base/plain_text.h"
#include "terminal/facts.h"

namespace turnpike {
namespace {

namespace json = boost::json;

Paint paint_of(std::size_t lane) {
    constexpr std::array paints{Paint::cyan, Paint::green, Paint::magenta, Paint::yellow,
                                Paint::blue};
    return paints[lane % paints.size()];
}

}  // namespace

std::expected<LogPage, std::string> parse_log_page(std::string_view text) {
    const auto facts = parse_facts(text);
    if (!facts) return std::unexpected(facts.error());
    LogPage page{.lane = count_of(*facts, "lane"), .newest = count_of(*facts, "newest")};
    for (const json::value& value : list_of(*facts, "lines")) {
        const json::object& line = object_of(value);
        page.lines.push_back({.lane = page.lane,
                              .number = count_of(line, "number"),
                              .time = text_of(line, "time"),
                              .stream = text_of(line, "stream"),
                              .text = raw_text(line, "text")});
    }
    return page;
}

std::expected<std::vector<std::size_t>, std::string> lanes_of(std::string_view status_json) {
    const auto facts = parse_facts(status_json);
    if (!facts) return std::unexpected(facts.error());
    std::vector<std::size_t> lanes;
    for (const json::value& lane : list_of(*facts, "lanes"))
        lanes.push_back(count_of(object_of(lane), "lane"));
    return lanes;
}

void add_gap_notice(LogPage& page, std::uint64_t seen) {
    if (page.lines.empty() || page.lines.front().number <= seen + 1) return;
    const LaneLogLine& first = page.lines.front();
    const std::uint64_t missing = first.number - seen - 1;
    page.lines.insert(page.lines.begin(),
                      {.lane = page.lane,
                       .number = seen + 1,
                       .time = first.time,
                       .stream = "turnpike",
                       .text = fmt::format("({} line{} came too fast to be shown)", missing,
                                           missing == 1 ? "" : "s")});
}

std::vector<LaneLogLine> merged(std::vector<LogPage> pages, std::size_t last) {
    std::vector<LaneLogLine> lines;
    for (LogPage& page : pages) std::ranges::move(page.lines, std::back_inserter(lines));
    // Numbers can't be compared between lanes. Within one lane, times may go back with the clock.
    std::ranges::stable_sort(lines, {}, &LaneLogLine::time);
    if (pages.size() == 1) std::ranges::sort(lines, {}, &LaneLogLine::number);
    if (lines.size() > last) lines.erase(lines.begin(), lines.end() - static_cast<long>(last));
    return lines;
}

std::string lines_text(const std::vector<LaneLogLine>& lines, const LogStyle& style) {
    std::string out;
    for (const LaneLogLine& line : lines) {
        if (style.names_lanes)
            out += painted(fmt::format("lane {} │ ", line.lane), paint_of(line.lane), style.text);
        std::string text;
        append_plain(text, line.text);
        out += painted(std::move(text), line.stream == "turnpike" ? Paint::dim : Paint::plain,
                       style.text);
        out += '\n';
    }
    return out;
}

std::string lines_json(const std::vector<LaneLogLine>& lines) {
    std::string out;
    for (const LaneLogLine& line : lines) {
        JsonWriter json(out);
        json.open_object();
        json.member("lane", line.lane);
        json.member("number", line.number);
        json.member("time", line.time);
        json.member("stream", line.stream);
        json.member("text", line.text);
        json.close_object();
        out += '\n';
    }
    return out;
}

}  // namespace turnpike
