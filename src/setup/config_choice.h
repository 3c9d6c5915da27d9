// Finds out what `up` and `check` should serve from the word MODEL: a configuration, a model or
// neither.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "config/config.h"

namespace turnpike {

struct ConfigChoice {
    std::optional<std::string> said;  // the word MODEL, if it was given
    bool has_workers = false;         // flags name workers: --worker, --attach
};

[[nodiscard]] ConfigChoice config_choice(const std::optional<std::string>& said,
                                         const Flags& flags);

/// Both are empty if the flags alone say what to serve.
struct ChosenConfig {
    std::optional<std::string> file;   // a configuration to read
    std::optional<std::string> model;  // for Flags::model
    friend bool operator==(const ChosenConfig&, const ChosenConfig&) = default;
};

/// Returns what to serve. Paths are relative to `folder`. If no MODEL was given, searches `folder`.
/// An empty `folder` means the current one. An error says what to do.
[[nodiscard]] std::expected<ChosenConfig, std::string> choose_config(
    const ConfigChoice&, const std::string& folder = "");

}  // namespace turnpike
