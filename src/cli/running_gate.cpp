#include "cli/running_gate.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "cli/print.h"
#include "setup/environment.h"
#include "terminal/facts.h"
#include "terminal/safe_text.h"

namespace turnpike {
namespace {

using Wrong = std::unexpected<CommandError>;

std::string names_of(const std::vector<RunningGate>& running) {
    std::string names;
    for (const RunningGate& gate : running)
        names += fmt::format("\n  --name {}    (pid {})", gate.name, gate.pid);
    return names;
}

}  // namespace

int complain(const CommandError& error) { return complain(error.message, error.exit_code); }

std::expected<RunningGate, CommandError> choose_gate(const std::vector<RunningGate>& running,
                                                     const std::optional<std::string>& name) {
    if (running.empty())
        return Wrong({exit_nothing_runs,
                      "no gate is running; start one with: turnpike up (see: turnpike help up)"});
    if (!name && running.size() > 1)
        return Wrong(
            {exit_usage, "several gates are running; choose one with:" + names_of(running)});
    if (!name) return running.front();
    const auto found = std::ranges::find(running, *name, &RunningGate::name);
    if (found != running.end()) return *found;
    return Wrong({exit_nothing_runs, fmt::format("no gate named {} is running; running gates:{}",
                                                 sanitized(*name), names_of(running))});
}

std::string problem_text(const ControlAnswer& answer) {
    std::string text;
    if (const auto page = parse_facts(answer.body))
        for (const std::string_view part : {"title", "detail", "next"})
            if (const std::string words = text_of(*page, part); !words.empty())
                text += (text.empty() ? "" : text.ends_with('.') ? " " : ". ") + words;
    return text.empty() ? fmt::format("the gate answered with status {}", answer.status) : text;
}

std::expected<GateAnswer, CommandError> ask_gate(const std::optional<std::string>& name,
                                                 const ControlRequest& request) {
    auto gate = choose_gate(list_running(runtime_place()), name);
    if (!gate) return Wrong(std::move(gate.error()));
    auto answer = ask(gate->socket, request);
    if (!answer)
        return Wrong({exit_failed, fmt::format("the gate {} (pid {}) {}; try again, or look at "
                                               "what `turnpike up` printed",
                                               gate->name, gate->pid, answer.error())});
    if (answer->status >= 400) return Wrong({exit_failed, problem_text(*answer)});
    return GateAnswer{std::move(gate->name), std::move(*answer)};
}

}  // namespace turnpike
