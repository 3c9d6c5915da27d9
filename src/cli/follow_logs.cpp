// Runs `turnpike logs`: asks the gate once, or with --follow again and again.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/logs.h"
#include "cli/pools_and_lanes.h"
#include "cli/print.h"
#include "cli/running_gate.h"
#include "terminal/terminal.h"

namespace turnpike {
namespace {

constexpr Duration ask_every = 250ms;
constexpr Duration gone_after = 5s;  // then give up on a gate that was stopped
constexpr std::size_t lines_max = 2000;

/// The number of the last line that was shown, by lane.
using Seen = std::map<std::size_t, std::uint64_t>;
using Pages = std::expected<std::vector<LogPage>, CommandError>;

std::unexpected<CommandError> failed(std::string message) {
    return std::unexpected(CommandError{exit_failed, std::move(message)});
}

std::expected<std::vector<std::size_t>, CommandError> wanted_lanes(const LogsCommand& command) {
    if (command.lane) {
        if (auto trouble = check_lane(command.gate, *command.lane))
            return std::unexpected(*std::move(trouble));
        return std::vector<std::size_t>{std::stoul(*command.lane)};
    }
    const auto got = ask_gate(command.gate, {.target = "/-/status"});
    if (!got) return std::unexpected(got.error());
    auto lanes = lanes_of(got->answer.body);
    if (!lanes) return failed(std::move(lanes.error()));
    return *std::move(lanes);
}

std::expected<LogPage, CommandError> ask_for_lines(const LogsCommand& command, std::size_t lane,
                                                   std::uint64_t after, std::size_t lines) {
    const auto got =
        ask_gate(command.gate,
                 {.target = fmt::format("/-/lanes/{}/log?after={}&lines={}", lane, after, lines)});
    if (!got) return std::unexpected(got.error());
    auto page = parse_log_page(got->answer.body);
    if (!page) return failed(std::move(page.error()));
    return *std::move(page);
}

Pages ask_for_first(const LogsCommand& command, const std::vector<std::size_t>& lanes, Seen& seen) {
    std::vector<LogPage> pages;
    for (const std::size_t lane : lanes) {
        auto page = ask_for_lines(command, lane, 0, std::min(command.lines, lines_max));
        if (!page) return std::unexpected(std::move(page.error()));
        seen[lane] = page->newest;
        pages.push_back(*std::move(page));
    }
    return pages;
}

Pages ask_for_more(const LogsCommand& command, Seen& seen) {
    std::vector<LogPage> pages;
    for (auto& [lane, last] : seen) {
        auto page = ask_for_lines(command, lane, last, lines_max);
        if (page && page->newest < last)  // a new gate counts from 1 again
            page = ask_for_lines(command, lane, last = 0, lines_max);
        if (!page) return std::unexpected(std::move(page.error()));
        add_gap_notice(*page, last);
        last = page->newest;
        pages.push_back(*std::move(page));
    }
    return pages;
}

int show(const LogsCommand& command, std::vector<LogPage> pages, std::size_t last) {
    const auto lines = merged(std::move(pages), last);
    if (lines.empty()) return exit_done;
    if (command.json) return print(lines_json(lines));
    return print(lines_text(
        lines, {.text = {.colours = wants_colours()}, .names_lanes = !command.lane.has_value()}));
}

/// Ctrl-C is the usual end of following, so it exits at once with success.
void leave_on_ctrl_c() {
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { ::_exit(exit_done); });
}

int follow(const LogsCommand& command, Seen& seen) {
    for (Duration away{};;) {
        std::this_thread::sleep_for(ask_every);
        auto pages = ask_for_more(command, seen);
        if (pages) {
            away = {};
            const int shown = show(command, *std::move(pages), SIZE_MAX);
            if (shown != exit_done) return shown;
            continue;
        }
        away += ask_every;
        const CommandError& trouble = pages.error();
        if (trouble.exit_code == exit_nothing_runs)
            return complain("the gate is gone: " + trouble.message, exit_nothing_runs);
        if (away >= gone_after) return complain(trouble);
    }
}

}  // namespace

int run(const LogsCommand& command) {
    if (command.follow) leave_on_ctrl_c();
    const auto lanes = wanted_lanes(command);
    if (!lanes) return complain(lanes.error());
    Seen seen;
    auto pages = ask_for_first(command, *lanes, seen);
    if (!pages) return complain(pages.error());
    const int shown = show(command, *std::move(pages), command.lines);
    if (shown != exit_done) return shown;
    if (command.follow) return follow(command, seen);
    const bool is_empty =
        std::ranges::all_of(seen, [](const auto& lane) { return lane.second == 0; });
    if (is_empty && !command.json)
        print_to_stderr(
            "no worker has printed anything yet; attached workers print where they were started\n");
    return exit_done;
}

}  // namespace turnpike
