// The configuration with everything that can be checked before listening: beside the keys' own
// bounds, what other modules make of their values, and how it is laid out over this machine's GPUs.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "gate/key_file.h"
#include "gpu/gpu.h"
#include "plan/lane_plan.h"
#include "setup/python_choice.h"

namespace turnpike {

/// May be moved, not copied: the lanes point into the pools.
struct CheckedConfig {
    Config config;
    Machine machine;
    std::vector<LanePlan> lanes;          // by LaneId
    std::vector<std::string> python_why;  // by pool: why that one; empty: it needs none

    CheckedConfig(Config all, Machine here, std::vector<LanePlan> plan)
        : config(std::move(all)),
          machine(std::move(here)),
          lanes(std::move(plan)),
          python_why(config.pools.size()) {}
    CheckedConfig(CheckedConfig&&) = default;
    CheckedConfig& operator=(CheckedConfig&&) = default;
};

using FindPython = std::function<std::expected<PythonChoice, std::string>(const WorkerConfig&)>;

/// `find_machine` is called only if there are workers to be started, `find_python` for Python models.
[[nodiscard]] std::expected<CheckedConfig, std::vector<Mistake>> checked_config(
    const std::optional<std::string>& path, const Flags& flags,
    const std::function<Machine()>& find_machine, const FindPython& find_python);

/// Whether clients of other machines could come, so that API keys are needed.
[[nodiscard]] KeyFile::Need key_need(const GateConfig& gate);

/// Why the gate must not listen with these keys; nothing: it may.
[[nodiscard]] std::optional<std::string> objection_to_listening(const GateConfig& gate,
                                                                const KeyFile& keys);

}  // namespace turnpike
