// Which lanes there are: every pool's workers laid out over the GPUs of this machine.
//
//   attached            one lane per URL
//   on GPUs             one lane per gpus_per_lane of them, in order; with `lanes = N` that many, going
//                       round the GPUs again where N asks for more lanes than they make (four lanes on
//                       one GPU), leaving the last ones idle where it asks for fewer
//   without a GPU       `lanes` CPU lanes, four unless it is said
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "gpu/gpu.h"

namespace turnpike {

inline constexpr std::uint32_t cpu_lanes = 4;

/// One lane. LaneIds follow the order of the plan.
struct LanePlan {
    std::size_t pool = 0;
    const WorkerUrl* url = nullptr;  // attached: in Config::pools; else a worker that we start
    std::vector<Gpu> gpus;           // none: a CPU lane, or attached
};

/// Also writes each pool's PoolSettings::lanes. Mistakes: a GPU that is not there or is listed twice,
/// too few of them, several pools of which one does not say which GPUs are its own, more lanes than
/// lanes_max. Pools that list the same GPU share it.
[[nodiscard]] std::expected<std::vector<LanePlan>, std::vector<Mistake>> plan_lanes(
    Config& config, const Machine& machine);

/// CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER as `pin` says (MIG devices have names only); a CPU lane
/// that is there although the machine has GPUs sees none of them. Then TURNPIKE_LANE and
/// TURNPIKE_POOL, then the pool's `env`.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> lane_environment(
    const PoolConfig& pool, const LanePlan& lane, std::size_t lane_number, const Machine& machine);

/// What stands for the {words} of a command.
struct Blanks {
    std::uint16_t port = 0;
    std::string socket;
};

/// The command that starts a native worker: Python with a script of the SDK, whose folder this is, or the
/// program.
[[nodiscard]] std::string python_command(const WorkerConfig& worker, const std::string& sdk);
[[nodiscard]] std::string program_command(const std::string& path);

/// "/models/digits.py:Digits"
[[nodiscard]] std::string model_argument(const ModelChoice& model);

/// What Python workers need beside their lane's own: the SDK's folder first where modules are looked for
/// (then those of the pool's `env`, or of `up`), and a look at the GPUs that does not start CUDA.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> python_variables(
    const WorkerConfig& worker, const std::vector<std::string>& environment,
    const std::string& sdk);

/// The command with its {words} filled in: {port}, {socket} (quoted for the shell where it must be),
/// {gpu} (the index of the first one, a MIG device's name; "cpu"), {gpus} ("0,1"; "cpu"), {lane}. Any
/// other brace is left alone, "${port}" too.
[[nodiscard]] std::string filled_command(const std::string& command, const LanePlan& lane,
                                         std::size_t lane_number, const Blanks& blanks);

}  // namespace turnpike
