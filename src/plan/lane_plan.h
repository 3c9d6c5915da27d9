// Plans the lanes: distributes every pool's workers over the GPUs of this machine.
//
//   attached            one lane per URL
//   on GPUs             one lane per `gpus_per_lane` GPUs, in order. With `lanes = N` there are N
//                       lanes: if the GPUs are too few for that, several lanes share them (four
//                       lanes on one GPU); if there are GPUs left over, they stay idle
//   without a GPU       `lanes` CPU lanes, four by default
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
    const WorkerUrl* url = nullptr;  // in Config::pools, if attached; otherwise nullptr
    std::vector<Gpu> gpus;           // empty for a CPU lane or an attached worker
};

/// Plans the lanes, and writes each pool's PoolSettings::lanes. Mistakes are: a GPU that is missing
/// or listed twice; too few GPUs; a pool that does not say which GPUs it uses, if several pools use
/// GPUs; more lanes than lanes_max. Pools that list the same GPU share it.
[[nodiscard]] std::expected<std::vector<LanePlan>, std::vector<Mistake>> plan_lanes(
    Config& config, const Machine& machine);

/// Returns CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER according to `pin` (MIG devices have no
/// index, so they are always named), then TURNPIKE_LANE and TURNPIKE_POOL, then the pool's `env`. A
/// CPU lane on a machine with GPUs sees none of them.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> lane_environment(
    const PoolConfig& pool, const LanePlan& lane, std::size_t lane_number, const Machine& machine);

/// The values of {port} and {socket} in a command.
struct Placeholders {
    std::uint16_t port = 0;
    std::string socket;
};

/// Return the shell command that starts a native worker: Python with the SDK's script (`sdk` is the
/// SDK's folder), or the program.
[[nodiscard]] std::string python_command(const WorkerConfig& worker, const std::string& sdk);
[[nodiscard]] std::string program_command(const std::string& path);

/// Returns the model as the SDK's script expects it: "/models/digits.py:Digits".
[[nodiscard]] std::string model_argument(const ModelChoice& model);

/// Returns the variables that Python workers need in addition to those of their lane. PYTHONPATH
/// has the SDK's folder first, then its value in the pool's `env` or in `environment`. PyTorch is
/// told to look for GPUs without starting CUDA.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> python_variables(
    const WorkerConfig& worker, const std::vector<std::string>& environment,
    const std::string& sdk);

/// Returns the command with its {words} filled in: {port}, {socket} (quoted for the shell if
/// necessary), {gpu} (the index of the lane's first GPU, a MIG device's name, or "cpu"), {gpus}
/// ("0,1" or "cpu") and {lane}. Any other brace is left alone, also "${port}".
[[nodiscard]] std::string filled_command(const std::string& command, const LanePlan& lane,
                                         std::size_t lane_number, const Placeholders& values);

}  // namespace turnpike
