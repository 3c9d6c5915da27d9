#include "cli/reload.h"

#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/time.h"
#include "cli/command.h"
#include "cli/orders.h"
#include "cli/pools_and_lanes.h"
#include "cli/print.h"
#include "cli/running_gate.h"
#include "terminal/facts.h"
#include "terminal/reload_text.h"
#include "terminal/terminal.h"

namespace turnpike {
namespace {

namespace json = boost::json;

constexpr Duration ask_every = 100ms;

std::expected<GateAnswer, CommandError> ask_for_reload(const ReloadCommand& command) {
    if (command.pool)
        if (auto trouble = check_pool(command.gate, *command.pool))
            return std::unexpected(*std::move(trouble));
    const std::string route =
        command.pool ? *pool_route(*command.pool, "reload") : std::string("/-/reload");
    return ask_gate(command.gate, {.method = http::Method::post,
                                   .target = route + (command.accept ? "?accept=1" : "")});
}

/// Draws the lines over the previous ones. Draws nothing if stderr is not a terminal.
void show_progress(const std::string& lines) {
    if (::isatty(STDERR_FILENO) == 0) return;
    std::string text(Terminal::wipe);
    text += lines;
    for (const char c : lines)
        if (c == '\n') text += "\x1b[A";
    print_to_stderr(text);
}

std::expected<ReloadsSeen, CommandError> follow(const ReloadCommand& command,
                                                const ReloadsAsked& asked) {
    for (;;) {
        const auto got = ask_gate(command.gate, {.target = "/-/status"});
        if (!got) return std::unexpected(got.error());
        auto seen = reloads_seen(asked, got->answer.body);
        if (!seen) return std::unexpected(CommandError{exit_failed, std::move(seen.error())});
        if (seen->is_over) return *std::move(seen);
        show_progress(seen->lines);
        std::this_thread::sleep_for(ask_every);
    }
}

std::string asked_text(const ReloadsAsked& asked, const ReloadCommand& command) {
    std::string text;
    for (const auto& [pool, generation] : asked)
        text += fmt::format("pool {}: reload {} is under way; see: turnpike status{}\n", pool,
                            generation, command.gate ? " --name " + *command.gate : "");
    return text;
}

const json::object& pool_named(const json::object& page, const std::string& name) {
    static const json::object none;
    for (const json::value& pool : list_of(page, "pools"))
        if (text_of(object_of(pool), "pool") == name) return object_of(pool);
    return none;
}

}  // namespace

std::expected<ReloadsAsked, std::string> reloads_asked(std::string_view text) {
    const auto page = parse_facts(text);
    if (!page) return std::unexpected(page.error());
    ReloadsAsked asked;
    const auto add = [&](const json::object& pool) {
        asked[text_of(pool, "pool")] = count_of(pool, "generation");
    };
    if (!text_of(*page, "pool").empty()) add(*page);
    for (const json::value& pool : list_of(*page, "pools")) add(object_of(pool));
    return asked;
}

std::expected<ReloadsSeen, std::string> reloads_seen(const ReloadsAsked& asked,
                                                     std::string_view status_json) {
    const auto page = parse_facts(status_json);
    if (!page) return std::unexpected(page.error());
    ReloadsSeen seen;
    for (const auto& [name, generation] : asked) {
        const json::object& reload = object_of(pool_named(*page, name), "reload");
        if (count_of(reload, "generation") < generation)
            return std::unexpected("the gate was restarted meanwhile; ask for the reload again");
        const std::string state = text_of(reload, "state");
        // No lane can begin the reload. It begins when a lane is resumed.
        const bool is_stuck = state == "waiting" && count_of(reload, "lanes") == 0;
        const bool is_over =
            is_stuck || state == "done" || state == "abandoned" || state == "superseded";
        seen.is_over = seen.is_over && is_over;
        seen.is_good = seen.is_good && state == "done";
        seen.lines += fmt::format("pool {}: {}\n", name, reload_line(reload));
        seen.errors += reload_error(reload);
        json::object facts = reload;
        facts["pool"] = name;
        seen.json += (seen.json.empty() ? "" : ",") + json::serialize(facts);
    }
    return seen;
}

int run(const ReloadCommand& command) {
    const auto got = ask_for_reload(command);
    if (!got) return complain(got.error());
    const auto asked = reloads_asked(got->answer.body);
    if (!asked) return complain(asked.error());
    if (command.no_wait)
        return print(command.json ? got->answer.body : asked_text(*asked, command));
    const auto seen = follow(command, *asked);
    if (::isatty(STDERR_FILENO) != 0) print_to_stderr(Terminal::wipe);
    if (!seen) return complain(seen.error());
    const int printed =
        print(command.json ? fmt::format("{{\"reloads\":[{}]}}\n", seen->json) : seen->lines);
    if (!command.json) print_to_stderr(seen->errors);
    return seen->is_good ? printed : exit_failed;
}

}  // namespace turnpike
