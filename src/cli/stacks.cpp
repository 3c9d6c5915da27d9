#include "cli/stacks.h"

#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/json_writer.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/orders.h"
#include "cli/pools_and_lanes.h"
#include "cli/print.h"
#include "cli/running_gate.h"
#include "terminal/facts.h"

namespace turnpike {
namespace {

using WallClock = std::chrono::steady_clock;

constexpr Duration ask_every = 100ms;
constexpr Duration quiet_max = 1s;  // without a new line, after the first
constexpr Duration wait_max = 15s;  // in total

std::expected<StackLines, CommandError> ask_log(const StacksCommand& command, std::size_t after) {
    const auto got =
        ask_gate(command.gate,
                 {.target = fmt::format("{}?after={}", *lane_route(command.lane, "log"), after)});
    if (!got) return std::unexpected(got.error());
    const auto lines = stack_lines(got->answer.body);
    if (!lines) return std::unexpected(CommandError{exit_failed, lines.error()});
    return *lines;
}

std::string json_of(const StacksCommand& command, const std::vector<std::string>& lines) {
    std::string page;
    JsonWriter json(page);
    json.open_object();
    json.key("lane"), json.raw(command.lane);
    json.key("stacks"), json.open_array();
    for (const std::string& line : lines) json.value(line);
    json.close_array();
    json.close_object();
    return page + '\n';
}

/// Collects the lines that appear. Prints each at once unless JSON is wanted.
std::expected<std::vector<std::string>, CommandError> follow(const StacksCommand& command,
                                                             std::size_t after) {
    std::vector<std::string> all;
    const auto start = WallClock::now();
    for (auto latest = start; WallClock::now() - start < wait_max;) {
        if (!all.empty() && WallClock::now() - latest > quiet_max) break;
        const auto more = ask_log(command, after);
        if (!more) return std::unexpected(more.error());
        after = more->newest;
        if (!more->lines.empty()) latest = WallClock::now();
        for (const std::string& line : more->lines) {
            if (!command.json && print(line + '\n') != exit_done)
                return std::unexpected(CommandError{exit_failed, ""});
            all.push_back(line);
        }
        std::this_thread::sleep_for(ask_every);
    }
    return all;
}

}  // namespace

std::expected<StackLines, std::string> stack_lines(std::string_view text) {
    const auto page = parse_facts(text);
    if (!page) return std::unexpected(page.error());
    StackLines found{.newest = count_of(*page, "newest"), .lines = {}};
    for (const boost::json::value& value : list_of(*page, "lines")) {
        const boost::json::object& line = object_of(value);
        if (text_of(line, "stream") == "stacks") found.lines.push_back(text_of(line, "text"));
    }
    return found;
}

int run(const StacksCommand& command) {
    const auto route = lane_route(command.lane, "stacks");
    const auto before = route ? ask_log(command, 0) : std::unexpected(CommandError{});
    if (!before) {
        const CommandError why = check_lane(command.gate, command.lane).value_or(before.error());
        return complain(why);
    }
    const auto asked = ask_gate(command.gate, {.method = http::Method::post, .target = *route});
    if (!asked) return complain(asked.error());
    const auto lines = follow(command, before->newest);
    if (!lines && lines.error().message.empty())
        return lines.error().exit_code;  // print() has complained
    if (!lines) return complain(lines.error());
    if (lines->empty())
        return complain(
            fmt::format("the worker printed no stacks within {} s; see: turnpike logs {}{}",
                        std::chrono::duration_cast<std::chrono::seconds>(wait_max).count(),
                        command.lane, asked->gate == "default" ? "" : " --name " + asked->gate));
    return command.json ? print(json_of(command, *lines)) : exit_done;
}

}  // namespace turnpike
