// `turnpike check`: shows what `up` would serve with a configuration.
#pragma once

#include <span>
#include <string>

#include "config/config.h"
#include "setup/checked_config.h"

namespace turnpike {

/// Returns where the gate would listen, the pools with what they run, and a line for each lane.
[[nodiscard]] std::string served_text(const CheckedConfig& checked);
[[nodiscard]] std::string served_json(const CheckedConfig& checked);

/// Returns a line such as "turnpike: python: /usr/bin/python3 (first python3 on the PATH)" for each
/// Python that models run with. Empty if there are no Python models.
[[nodiscard]] std::string pythons_text(const CheckedConfig& checked);

/// Returns a line for each mistake: "file:line: key: problem".
[[nodiscard]] std::string mistakes_text(std::span<const Mistake> mistakes);
/// Returns {"mistakes":[{"file":"turnpike.toml","line":3,"key":"gate.listen","problem":"…"}]}
[[nodiscard]] std::string mistakes_json(std::span<const Mistake> mistakes);

}  // namespace turnpike
