#include "cli/command_line.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/command_words.h"
#include "config/nearest.h"
#include "terminal/safe_text.h"

namespace turnpike {
namespace {

/// Returns the innermost command that was recognized: "new" for "key new bob".
const CLI::App& innermost(const CLI::App& app) {
    const std::vector<CLI::App*> parsed = app.get_subcommands();
    return parsed.empty() ? app : innermost(*parsed.back());
}

/// Returns "turnpike key new".
std::string full_name(const CLI::App& app) {
    const CLI::App* parent = app.get_parent();
    return (parent == nullptr ? "" : full_name(*parent) + ' ') + app.get_name();
}

EarlyExit usage_mistake(std::string_view problem, const CLI::App& app) {
    return {.exit_code = exit_usage,
            .err = fmt::format("turnpike: {}\nSee: {} --help\n", problem, full_name(app))};
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
    const std::string near = nearest(word, known);
    return near.empty() ? "" : "; did you mean \"" + near + "\"?";
}

/// Names the first word that should be a command and is not. CLI11 would only say that a command is
/// missing.
std::optional<EarlyExit> unknown_command(const CLI::App& app, std::span<const std::string> words) {
    std::vector<std::string> known;
    for (const CLI::App* sub : app.get_subcommands(nullptr)) known.push_back(sub->get_name());
    if (known.empty() || words.empty() || words.front().starts_with('-')) return std::nullopt;
    if (std::ranges::find(known, words.front()) != known.end())
        return unknown_command(*app.get_subcommand(words.front()), words.subspan(1));
    return usage_mistake(fmt::format("there is no command \"{}\"{}", sanitized(words.front()),
                                     did_you_mean(words.front(), known)),
                         app);
}

EarlyExit unexpected_word(const CLI::App& app) {
    const std::vector<std::string> rest = app.remaining();
    if (rest.empty() && !app.get_subcommands().empty())
        return unexpected_word(*app.get_subcommands().back());
    const std::string word = rest.empty() ? "" : rest.front();
    std::vector<std::string> known;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    const bool is_flag = word.starts_with('-');
    return usage_mistake(fmt::format("\"{}\" is not {}{}", sanitized(word),
                                     is_flag ? "a flag of this command" : "expected here",
                                     is_flag ? did_you_mean(word, known) : ""),
                         app);
}

}  // namespace

std::expected<Command, EarlyExit> parse_command_line(std::vector<std::string> words) {
    std::optional<Command> chosen;
    CLI::App app{"Turnpike serves machine-learning models: one queue in front of many GPUs."};
    add_commands(app, chosen);
    if (words.empty())
        return std::unexpected(EarlyExit{.exit_code = exit_usage, .err = app.help()});
    if (words.front() == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    }
    if (auto early_exit = unknown_command(app, words))
        return std::unexpected(std::move(*early_exit));
    try {
        app.parse(std::vector<std::string>(words.rbegin(),
                                           words.rend()));  // CLI11 wants them in reverse order
    } catch (const CLI::CallForVersion& asked) {
        return std::unexpected(EarlyExit{.out = std::string(asked.what()) + '\n'});
    } catch (const CLI::CallForHelp&) {
        return std::unexpected(EarlyExit{.out = app.help()});
    } catch (const CLI::ExtrasError&) {
        return std::unexpected(unexpected_word(app));
    } catch (const CLI::Error& error) {
        return std::unexpected(usage_mistake(sanitized(error.what()), innermost(app)));
    }
    if (!chosen) return std::unexpected(EarlyExit{.exit_code = exit_usage, .err = app.help()});
    if (auto* up = std::get_if<UpCommand>(&*chosen)) up->words = std::move(words);
    return std::move(*chosen);
}

}  // namespace turnpike
