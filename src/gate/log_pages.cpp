#include "gate/log_pages.h"

#include <charconv>

#include "base/json_writer.h"
#include "base/utc.h"
#include "gate/json_object.h"

namespace turnpike {
namespace {

std::optional<std::uint64_t> number_of(std::string_view text) {
    std::uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

/// Applies one "name=value" of the query. Returns false if it is not valid.
bool set(WantedLines& wanted, std::string_view part) {
    const std::size_t mark = part.find('=');
    if (mark == std::string_view::npos) return false;
    const std::string_view name = part.substr(0, mark);
    const auto number = number_of(part.substr(mark + 1));
    if (!number) return false;
    if (name == "after") {
        wanted.after = *number;
        return true;
    }
    if (name != "lines" || *number > WantedLines::lines_max) return false;
    wanted.lines = static_cast<std::size_t>(*number);
    return true;
}

void append_line(JsonWriter& json, const LogLine& line) {
    std::string time;
    append_utc(time, line.unix_ns);
    json.open_object();
    json.member("number", line.number);
    json.member("time", time);
    json.member("stream", name_of(line.stream));
    json.member("text", line.text);
    json.close_object();
}

std::string_view without_newline(std::string_view line) {
    return line.ends_with('\n') ? line.substr(0, line.size() - 1) : line;
}

}  // namespace

std::optional<std::size_t> lane_of(std::string_view text, std::size_t lanes) {
    const auto number = number_of(text);
    if (!number || *number >= lanes) return std::nullopt;
    return static_cast<std::size_t>(*number);
}

std::optional<WantedLines> wanted_lines(std::string_view query) {
    WantedLines wanted;
    while (!query.empty()) {
        const std::size_t end = query.find('&');
        if (!set(wanted, query.substr(0, end))) return std::nullopt;
        query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    }
    return wanted;
}

std::string lane_log_page(std::size_t lane, const LaneLog* log, const WantedLines& wanted) {
    std::string page;
    JsonWriter json(page);
    json.open_object();
    json.member("lane", lane);
    json.member("newest", log == nullptr ? 0 : log->newest());
    json.key("lines"), json.open_array();
    if (log != nullptr)
        for (const LogLine* line : log->lines(wanted.after, wanted.lines)) append_line(json, *line);
    json.close_array();
    json.close_object();
    return page + "\n";
}

std::string crashes_page(const RecentCrashes& crashes) {
    std::string page;
    JsonWriter json(page);
    json.open_object();
    json.key("crashes"), json.open_array();
    for (const RecentCrashes::Crash& crash : crashes.newest_first())
        // Somebody may have edited the report of an earlier run. It must not break the page.
        if (is_json_object(crash.json)) json.raw(without_newline(crash.json));
    json.close_array();
    json.close_object();
    return page + "\n";
}

}  // namespace turnpike
