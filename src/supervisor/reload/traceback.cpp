#include "supervisor/reload/traceback.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>

namespace turnpike {
namespace {

constexpr std::size_t lines_max = 60;  // only the last lines of a traceback are kept: they say most
constexpr std::size_t plain_lines_max = 10;
constexpr std::string_view traceback_begins = "Traceback (most recent call last):";

constexpr std::string_view of_the_importer =
    "  File \"<frozen importlib";  // Python's own, not the user's

bool begins_traceback(std::string_view line) { return line.contains(traceback_begins); }

/// Returns where the last traceback begins, including its causes, which are printed before it:
/// "During handling of the above exception, another exception occurred:"
std::size_t first_of_the_last(const std::vector<std::string_view>& lines) {
    std::size_t first = lines.size();
    for (std::size_t i = lines.size(); i > 0; --i) {
        if (!begins_traceback(lines[i - 1])) continue;
        first = i - 1;
        const bool has_cause = first >= 2 && (lines[first - 1].contains("exception") ||
                                              lines[first - 2].contains("exception"));
        if (!has_cause) break;
    }
    return first;
}

}  // namespace

std::string last_error(const LaneLog& log, std::uint64_t writer) {
    std::vector<std::string_view> lines;
    for (const LogLine* line : log.lines(0, LaneLog::lines_kept_max))
        if (line->stream == LogStream::err && line->writer == writer &&
            !line->text.starts_with(of_the_importer))
            lines.push_back(line->text);
    const std::size_t first = first_of_the_last(lines);
    const bool has_traceback = first < lines.size();
    if (has_traceback)
        lines.erase(lines.begin(), std::next(lines.begin(), static_cast<std::ptrdiff_t>(first)));
    const std::size_t max = has_traceback ? lines_max : plain_lines_max;
    const std::size_t shown = std::min(lines.size(), max);
    std::string text = has_traceback && shown < lines.size() ? "…\n" : "";
    for (const std::string_view line : std::span(lines).last(shown)) text.append(line) += '\n';
    if (!text.empty()) text.pop_back();
    return text;
}

std::vector<std::string> files_in_traceback(std::string_view text) {
    constexpr std::string_view before = "File \"";
    std::vector<std::string> files;
    for (std::size_t at = text.find(before); at != std::string_view::npos;
         at = text.find(before, at)) {
        at += before.size();
        const std::string_view path = text.substr(at, text.find('"', at) - at);
        if (path.starts_with('/') && !path.contains('\n') &&
            std::ranges::find(files, path) == files.end())
            files.emplace_back(path);
    }
    return files;
}

}  // namespace turnpike
