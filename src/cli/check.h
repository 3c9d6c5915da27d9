// `turnpike check`: what a configuration would serve.
#pragma once

#include <span>
#include <string>

#include "config/config.h"
#include "setup/checked_config.h"

namespace turnpike {

/// Where it listens, the pools with what they run, and a line for each lane.
[[nodiscard]] std::string served_text(const CheckedConfig& checked);
[[nodiscard]] std::string served_json(const CheckedConfig& checked);

/// "turnpike: python: /usr/bin/python3 (first python3 of the PATH)" and a newline for each Python that
/// models run with; empty: none does.
[[nodiscard]] std::string pythons_text(const CheckedConfig& checked);

/// A line each: "file:line: key: problem"
[[nodiscard]] std::string mistakes_text(std::span<const Mistake> mistakes);
/// {"mistakes":[{"file":"turnpike.toml","line":3,"key":"gate.listen","problem":"…"}]}
[[nodiscard]] std::string mistakes_json(std::span<const Mistake> mistakes);

}  // namespace turnpike
