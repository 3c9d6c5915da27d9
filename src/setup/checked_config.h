// The configuration, with everything checked that can be checked before listening: the bounds of
// each key, what other modules demand of the values, and how the lanes fit on this machine's GPUs.
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

/// Can be moved but not copied, since the lanes point into the pools.
struct CheckedConfig {
    Config config;
    Machine machine;
    std::vector<LanePlan> lanes;  // by LaneId
    std::vector<std::string>
        python_why;  // by pool: why this Python was chosen; empty if none is needed

    CheckedConfig(Config all, Machine here, std::vector<LanePlan> plan)
        : config(std::move(all)),
          machine(std::move(here)),
          lanes(std::move(plan)),
          python_why(config.pools.size()) {}
    CheckedConfig(CheckedConfig&&) = default;
    CheckedConfig& operator=(CheckedConfig&&) = default;
};

using FindPython = std::function<std::expected<PythonChoice, std::string>(const WorkerConfig&)>;

/// Reads and checks the configuration, or returns every mistake in it. `find_machine` is called
/// only if there are workers to start, `find_python` only for Python models.
[[nodiscard]] std::expected<CheckedConfig, std::vector<Mistake>> checked_config(
    const std::optional<std::string>& path, const Flags& flags,
    const std::function<Machine()>& find_machine, const FindPython& find_python);

/// API keys are required if clients on other machines can connect.
[[nodiscard]] KeyFile::Need key_need(const GateConfig& gate);

/// Returns why the gate must not listen with these keys, or nullopt if it may.
[[nodiscard]] std::optional<std::string> objection_to_listening(const GateConfig& gate,
                                                                const KeyFile& keys);

}  // namespace turnpike
