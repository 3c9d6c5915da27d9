// Which configuration `up` and `check` mean.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "config/config.h"

namespace turnpike {

struct ConfigChoice {
    std::optional<std::string> said;  // the word CONFIG
    bool has_workers = false;         // flags name them: --worker, --attach
};

[[nodiscard]] ConfigChoice config_choice(const std::optional<std::string>& said,
                                         const Flags& flags);

/// The file to read; none: the flags are enough. `folder`: what a path is relative to and where
/// turnpike.toml is looked for; "": the current one. An error says what to do.
[[nodiscard]] std::expected<std::optional<std::string>, std::string> choose_config(
    const ConfigChoice&, const std::string& folder = "");

}  // namespace turnpike
