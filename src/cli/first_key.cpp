#include "cli/first_key.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "cli/print.h"
#include "gate/keys.h"
#include "os/gate_name.h"
#include "os/process.h"
#include "setup/environment.h"
#include "terminal/facts.h"

namespace turnpike {
namespace {

std::string resolved(const std::string& path) {
    std::error_code error;
    const auto whole = std::filesystem::weakly_canonical(path, error);
    return error ? path : whole.string();
}

/// Returns the path of the key file that this process reads. Empty if it can't be known.
std::string key_file_of(pid_t pid) {
    return keys_path(variable_of(pid, "XDG_CONFIG_HOME").value_or(""),
                     variable_of(pid, "HOME").value_or(""));
}

/// Returns the gates of this user, also those whose runtime folder is not where ours would be.
std::vector<RunningGate> all_gates() {
    std::vector<RunningGate> gates = list_running(runtime_place());
    for (NamedGate& gate : named_gates())
        if (std::ranges::find(gates, gate.pid, &RunningGate::pid) == gates.end())
            gates.push_back({.name = std::move(gate.name),
                             .pid = gate.pid,
                             .folder = {},
                             .socket = std::move(gate.socket)});
    return gates;
}

bool needs_keys(const RunningGate& gate) {
    const auto answer = ask(gate.socket, {.target = "/-/status"}, {.timeout = 2s});
    if (!answer) return false;
    const auto page = parse_facts(answer->body);
    return page && is_true(*page, "needs_keys");
}

std::string names_of(const std::vector<RunningGate>& gates) {
    std::string names;
    for (const RunningGate& gate : gates)
        names += fmt::format("{}{} (pid {})", names.empty() ? "" : ", ", gate.name, gate.pid);
    return (gates.size() == 1 ? "the gate " : "the gates ") + names;
}

}  // namespace

std::vector<RunningGate> gates_without_keys(const std::string& key_file) {
    std::vector<RunningGate> gates = all_gates();
    std::erase_if(gates, [path = resolved(key_file)](const RunningGate& gate) {
        return resolved(key_file_of(gate.pid)) != path || needs_keys(gate);
    });
    return gates;
}

std::expected<void, CommandError> confirm_first_key(const std::vector<RunningGate>& gates,
                                                    const std::string& name) {
    const bool is_one = gates.size() == 1;
    const std::string what = fmt::format(
        "{} {} requests without a key now; with this first key, {} all of them within a second",
        names_of(gates), is_one ? "accepts" : "accept", is_one ? "it refuses" : "they refuse");
    if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDERR_FILENO) != 1)
        return std::unexpected(CommandError{
            exit_usage, fmt::format("{}. No key was made. If that is wanted: turnpike key new {} "
                                    "--yes",
                                    what, name)});
    print_to_stderr(fmt::format("turnpike: {}.\nMake the key? [y/N] ", what));
    std::string answer;
    std::getline(std::cin, answer);
    if (answer == "y" || answer == "Y" || answer == "yes") return {};
    return std::unexpected(CommandError{exit_failed, "no key was made"});
}

}  // namespace turnpike
