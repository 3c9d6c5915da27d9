#include "supervisor/process/worker_ending.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <ranges>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/units.h"
#include "supervisor/worker/answer_fields.h"
#include "telemetry/lane_words.h"

namespace turnpike {
namespace {

constexpr std::size_t report_lines = 50;
constexpr std::size_t last_words_lines = 5;

/// Returns a hint for exit codes that usually come from the shell or from a worker that went to the
/// background.
std::string_view hint_for(const WorkerEnd& end) {
    const std::optional<int> code = exit_code_of(end);
    if (code == 0) return " (a worker must stay in the foreground)";
    if (code == 126) return " (the shell is not allowed to run the program)";
    if (code == 127) return " (the shell did not find the program)";
    return "";
}

/// False if the worker was killed from outside. Then what it printed before is not the reason.
bool may_have_said_why(const WorkerEnd& end) {
    const std::optional<int> signal = signal_of(end);
    return signal != SIGKILL && signal != SIGTERM;
}

/// Returns the last lines that the worker wrote, or that Turnpike wrote about it. Leaves out the
/// lines of another worker that writes to the same log.
std::vector<const LogLine*> own_lines(const WorkerEnding& ending) {
    auto lines = ending.log.lines(ending.log_began, LaneLog::lines_kept_max);
    std::erase_if(lines, [&](const LogLine* line) {
        return line->writer != 0 && line->writer != ending.writer;
    });
    if (lines.size() > report_lines)
        lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(report_lines));
    return lines;
}

/// Returns what the worker wrote to stderr, the last line first. These lines most likely say why it
/// ended.
std::vector<std::string_view> last_errors(const WorkerEnding& ending, std::size_t max) {
    std::vector<std::string_view> errors;
    for (const LogLine* line : own_lines(ending) | std::views::reverse) {
        if (errors.size() == max) break;
        if (line->stream == LogStream::err && !line->text.empty()) errors.push_back(line->text);
    }
    return errors;
}

/// Returns the last line that the worker wrote to stdout or stderr.
std::string last_said(const WorkerEnding& ending) {
    if (std::string begun = ending.log.unfinished_of(ending.writer); !begun.empty()) return begun;
    for (const LogLine* line : own_lines(ending) | std::views::reverse) {
        const bool is_its = line->stream == LogStream::out || line->stream == LogStream::err;
        if (is_its && line->text.find_first_not_of(" \t") != std::string::npos) return line->text;
    }
    return "";
}

/// Returns the line that most likely says why the worker ended, without the prefix of an SDK's own
/// messages.
std::string last_line(const WorkerEnding& ending) {
    constexpr std::string_view sdk = "turnpike: ";
    const std::vector<std::string_view> errors = last_errors(ending, 1);
    if (errors.empty()) return last_said(ending);
    return std::string(errors.front().substr(errors.front().starts_with(sdk) ? sdk.size() : 0));
}

/// Returns why we ended the worker. The signal that ended it is not worth telling.
LaneTrouble trouble_behind(const WorkerEnding& ending) {
    const LaneTrouble& before = ending.trouble_before;
    if (ending.ordered == Reason::load_silent)
        return {.cause = LaneCause::load_silent,
                .told = fmt::format("no progress for {} (load_timeout){}{}",
                                    text_of(ending.load_timeout), before.is_none() ? "" : ": ",
                                    before.told),
                .said = before.is_none() ? last_said(ending) : before.said};
    if (!before.is_none()) return before;
    if (ending.ordered == Reason::gpu_lost) return {};  // the lane's reason says so already
    return {.cause = LaneCause::ended,
            .told = "Turnpike ended it: " + std::string(words_for(ending.ordered))};
}

}  // namespace

bool was_requested(Reason ordered) {
    constexpr std::array wanted{Reason::restart_asked, Reason::drain_asked,
                                Reason::replaced,      Reason::reload_abandoned,
                                Reason::shutting_down, Reason::job_cancelled};
    return std::ranges::find(wanted, ordered) != wanted.end();
}

std::optional<int> exit_code_of(const WorkerEnd& end) {
    if (!end.exit || end.exit->code != CLD_EXITED) return std::nullopt;
    return end.exit->status;
}

std::optional<int> signal_of(const WorkerEnd& end) {
    if (!end.exit || end.exit->code == CLD_EXITED) return std::nullopt;
    return end.exit->status;
}

LaneTrouble trouble_of(const WorkerEnding& ending) {
    if (ending.ordered != Reason::none) return trouble_behind(ending);
    const WorkerEnd& end = ending.end;
    if (end.shortage != Shortage::none) return {.cause = LaneCause::shortage, .told = end.how};
    return {.cause = LaneCause::exited,
            .told = fmt::format("{}{}", end.how, hint_for(end)),
            .said = may_have_said_why(end) ? last_line(ending) : ""};
}

std::string last_words(const WorkerEnding& ending) {
    return fmt::format(
        "{}", fmt::join(last_errors(ending, last_words_lines) | std::views::reverse, " | "));
}

std::string last_lines(const WorkerEnding& ending) {
    std::string text;
    for (const LogLine* line : own_lines(ending))
        text += fmt::format("{} {}\n", name_of(line->stream), line->text);
    return text;
}

CrashInput input_of(const Exchange& exchange, std::size_t max) {
    const Body& body = exchange.body;
    CrashInput input{.job = std::string(field_in(exchange.fields, "Turnpike-Job")),
                     .request = fmt::format("{} {}", exchange.method,
                                            exchange.target.substr(0, exchange.target.find('?'))),
                     .content_type = std::string(field_in(exchange.fields, "Content-Type")),
                     .is_cut = body.size() > max};
    if (body.is_in_memory())
        input.body = body.bytes().substr(0, max);
    else
        input.fetch_body = body.reader(max);
    return input;
}

void add_gpus(CrashReport& report, const LaneFacts& lane) {
    for (const GpuFacts& gpu : lane.gpus) {
        report.gpus.push_back(gpu.index ? fmt::format("{} {} {}", *gpu.index, gpu.uuid, gpu.name)
                                        : gpu.uuid);
        if (gpu.memory_used)
            report.gpu_memory_used =
                Bytes{report.gpu_memory_used.value_or(Bytes{}).count + gpu.memory_used->count};
    }
}

}  // namespace turnpike
