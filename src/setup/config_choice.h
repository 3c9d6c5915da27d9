// What `up` and `check` are to serve, by the word after them.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "config/config.h"

namespace turnpike {

struct ConfigChoice {
    std::optional<std::string> said;  // the word MODEL
    bool has_workers = false;         // flags name them: --worker, --attach
};

[[nodiscard]] ConfigChoice config_choice(const std::optional<std::string>& said,
                                         const Flags& flags);

/// Neither: the flags are enough.
struct ChosenConfig {
    std::optional<std::string> file;   // a configuration to read
    std::optional<std::string> model;  // for Flags::model
    friend bool operator==(const ChosenConfig&, const ChosenConfig&) = default;
};

/// `folder`: what a path is relative to, and where to look if nothing was said; "": the current one.
/// An error says what to do.
[[nodiscard]] std::expected<ChosenConfig, std::string> choose_config(
    const ConfigChoice&, const std::string& folder = "");

}  // namespace turnpike
