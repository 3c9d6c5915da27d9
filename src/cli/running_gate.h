// Finds the gate that a command talks to, sends it requests, and puts its refusals into words.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/control_client.h"
#include "cli/exit_code.h"
#include "os/runtime_folder.h"

namespace turnpike {

/// Why a command failed.
struct CommandError {
    int exit_code = exit_failed;
    std::string message;
};

/// Prints the error's message and returns its exit code.
int complain(const CommandError& error);

/// Returns the gate of that name or, without a name, the only gate that runs.
[[nodiscard]] std::expected<RunningGate, CommandError> choose_gate(
    const std::vector<RunningGate>& running, const std::optional<std::string>& name);

/// Returns the title, detail and next step of an application/problem+json body. Names the status
/// for any other body.
[[nodiscard]] std::string problem_text(const ControlAnswer& answer);

struct GateAnswer {
    std::string gate;  // its name
    ControlAnswer answer;
};

/// Sends a request to the gate and returns its answer. An answer with a status of 400 or more is an
/// error, too.
[[nodiscard]] std::expected<GateAnswer, CommandError> ask_gate(
    const std::optional<std::string>& name, const ControlRequest& request);

}  // namespace turnpike
