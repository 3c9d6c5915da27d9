// `turnpike up`: wires engine, gate, supervisor and telemetry together, and runs them until told to
// stop.
#pragma once

#include <optional>
#include <string>

#include "config/config.h"

namespace turnpike {

struct UpOptions {
    std::optional<std::string> config_path;  // turnpike.toml
    Flags flags;
    std::string name = "default";  // of this gate, among those that run
};

/// The exit code: 0 stopped as asked, 1 could not serve, 2 wrong config.
int up(const UpOptions& options);

}  // namespace turnpike
