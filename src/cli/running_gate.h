// The gate that a command talks to: found, asked, and its refusals put into words.
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

/// Why a command could not be done.
struct CommandError {
    int exit_code = exit_failed;
    std::string message;
};

/// The gate of that name; without a name the only one.
[[nodiscard]] std::expected<RunningGate, CommandError> choose_gate(
    const std::vector<RunningGate>& running, const std::optional<std::string>& name);

/// "title detail next" of application/problem+json; of anything else the status.
[[nodiscard]] std::string problem_text(const ControlAnswer& answer);

struct GateAnswer {
    std::string gate;  // its name
    ControlAnswer answer;
};

/// An answer with a status of 400 or more is trouble too.
[[nodiscard]] std::expected<GateAnswer, CommandError> ask_gate(
    const std::optional<std::string>& name, const ControlRequest& request);

}  // namespace turnpike
