#include "plan/lane_plan.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/placeholders.h"
#include "os/spawn.h"

namespace turnpike {
namespace {

using Gpus = std::vector<Gpu>;
using Kind = GpuChoice::Kind;

std::string path_of(const PoolConfig& pool, std::string_view key) {
    return fmt::format("pool.{}.{}", pool.name, key);
}

/// Returns the GPU's index, or its UUID if it has none.
std::string name_of(const Gpu& gpu) { return gpu.index ? std::to_string(*gpu.index) : gpu.uuid; }

std::string names_of(const Gpus& gpus) {
    std::vector<std::string> names;
    for (const Gpu& gpu : gpus) names.push_back(name_of(gpu));
    return fmt::format("{}", fmt::join(names, ","));
}

std::string counted_gpus(std::size_t count) {
    return fmt::format("{} GPU{}", count, count == 1 ? "" : "s");
}

/// Finds the GPU that the config lists as `name`. The error message says which GPUs there are.
std::expected<Gpu, std::string> find_gpu(const std::string& name, const Machine& machine) {
    if (machine.gpus.empty())
        return std::unexpected(fmt::format("there is no GPU here: {}", machine.no_gpus));
    Gpus found;
    for (const Gpu& gpu : machine.gpus) {
        if (gpu.uuid == name || name_of(gpu) == name) return gpu;
        if (name.starts_with("GPU-") && gpu.uuid.starts_with(name)) found.push_back(gpu);
    }
    if (found.size() == 1) return found.front();
    if (found.size() > 1)
        return std::unexpected(
            fmt::format("{} matches {} GPUs: write more of the UUID", name, found.size()));
    if (name.starts_with("MIG-")) return Gpu{.uuid = name};  // drivers list only whole GPUs
    return std::unexpected(fmt::format("there is no GPU {} here; there {} {}", name,
                                       machine.gpus.size() == 1 ? "is" : "are",
                                       names_of(machine.gpus)));
}

class Planner {
public:
    Planner(const Config& config, const Machine& machine) : config_(config), machine_(machine) {}

    std::expected<std::vector<LanePlan>, std::vector<Mistake>> plan() {
        for (std::size_t pool = 0; pool < config_.pools.size(); ++pool) plan(pool);
        if (mistakes_.empty()) return std::move(lanes_);
        std::ranges::stable_sort(mistakes_, std::less{}, &Mistake::line);
        return std::unexpected(std::move(mistakes_));
    }

private:
    void wrong(const std::string& path, std::string problem) {
        mistakes_.push_back(config_.sources.mistake(path, std::move(problem)));
    }

    void plan(std::size_t number) {
        const PoolConfig& pool = config_.pools[number];
        for (const WorkerUrl& url : pool.attach) lanes_.push_back({.pool = number, .url = &url});
        if (!pool.is_started()) return;
        const std::size_t before = mistakes_.size();
        const Gpus gpus = gpus_of(pool);
        if (mistakes_.size() != before) return;
        if (gpus.empty())
            lay_out(number, {{}}, pool.worker.lanes == 0 ? cpu_lanes : pool.worker.lanes);
        else
            plan_on(number, gpus);
    }

    [[nodiscard]] Gpus gpus_of(const PoolConfig& pool) {
        switch (pool.worker.gpus.kind) {
            case Kind::none: return {};
            case Kind::listed: return listed(pool);
            case Kind::unset:
            case Kind::all: break;
        }
        const auto shares = std::ranges::count_if(config_.pools, [](const PoolConfig& other) {
            return other.is_started() && other.worker.gpus.kind != Kind::none;
        });
        if (shares > 1 && !machine_.gpus.empty())
            wrong(path_of(pool, "gpus"),
                  R"(several pools start workers here: say which GPUs this pool uses, such as )"
                  R"([0, 1] or "none")");
        return machine_.gpus;
    }

    [[nodiscard]] Gpus listed(const PoolConfig& pool) {
        Gpus gpus;
        const std::vector<std::string>& names = pool.worker.gpus.listed;
        for (std::size_t i = 0; i < names.size(); ++i) {
            const std::string path = fmt::format("{}[{}]", path_of(pool, "gpus"), i);
            const auto gpu = find_gpu(names[i], machine_);
            if (!gpu)
                wrong(path, gpu.error());
            else if (std::ranges::find(gpus, *gpu) != gpus.end())
                wrong(path, fmt::format("GPU {} is in the list twice", name_of(*gpu)));
            else
                gpus.push_back(*gpu);
        }
        return gpus;
    }

    void plan_on(std::size_t number, const Gpus& gpus) {
        const PoolConfig& pool = config_.pools[number];
        const std::size_t each = pool.worker.gpus_per_lane;
        const std::size_t shares = gpus.size() / each;
        const std::size_t lanes = pool.worker.lanes == 0 ? shares : pool.worker.lanes;
        if (shares == 0)
            return wrong(path_of(pool, "gpus_per_lane"),
                         fmt::format("a lane needs {}, but the pool has {}", counted_gpus(each),
                                     counted_gpus(gpus.size())));
        if (gpus.size() % each != 0 && (pool.worker.lanes == 0 || lanes > shares))
            return wrong(
                path_of(pool, "gpus_per_lane"),
                fmt::format("{} can't be divided into lanes of {}; lanes = {} would leave {} idle",
                            counted_gpus(gpus.size()), each, shares, gpus.size() % each));
        if (lanes > lanes_max)
            return wrong(
                path_of(pool, "lanes"),
                fmt::format("{} would make {} lanes, but a pool has at most {}: set `lanes`",
                            counted_gpus(gpus.size()), lanes, lanes_max));
        std::vector<Gpus> gpu_sets;
        for (std::size_t i = 0; i < shares; ++i) {
            const auto first = gpus.begin() + static_cast<std::ptrdiff_t>(i * each);
            gpu_sets.emplace_back(first, first + static_cast<std::ptrdiff_t>(each));
        }
        lay_out(number, gpu_sets, lanes);
    }

    /// Assigns the GPU sets to lanes in turn.
    void lay_out(std::size_t pool, const std::vector<Gpus>& gpu_sets, std::size_t lanes) {
        for (std::size_t i = 0; i < lanes; ++i)
            lanes_.push_back({.pool = pool, .gpus = gpu_sets[i % gpu_sets.size()]});
    }

    const Config& config_;
    const Machine& machine_;
    std::vector<LanePlan> lanes_;
    std::vector<Mistake> mistakes_;
};

/// Quotes `text` for the shell. A text that is one plain word is left as it is, because the user's
/// command may already quote it.
std::string shell_word(const std::string& text) {
    constexpr std::string_view plain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:+,@%";
    if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
    std::string word = "'";
    for (const char c : text) c == '\'' ? word += R"('\'')" : word += c;
    return word + "'";
}

}  // namespace

std::expected<std::vector<LanePlan>, std::vector<Mistake>> plan_lanes(Config& config,
                                                                      const Machine& machine) {
    auto lanes = Planner(config, machine).plan();
    if (!lanes) return lanes;
    for (PoolConfig& pool : config.pools) pool.settings.lanes = 0;
    for (const LanePlan& lane : *lanes) ++config.pools[lane.pool].settings.lanes;
    return lanes;
}

std::vector<std::pair<std::string, std::string>> lane_environment(const PoolConfig& pool,
                                                                  const LanePlan& lane,
                                                                  std::size_t lane_number,
                                                                  const Machine& machine) {
    std::vector<std::pair<std::string, std::string>> result;
    std::vector<std::string> uuids;
    for (const Gpu& gpu : lane.gpus) uuids.push_back(gpu.uuid);
    const bool by_index = pool.worker.pin == Pin::index &&
                          std::ranges::all_of(lane.gpus, [](auto& gpu) { return !!gpu.index; });
    if (pool.worker.pin != Pin::none && !(lane.gpus.empty() && machine.gpus.empty()))
        result.emplace_back("CUDA_VISIBLE_DEVICES", by_index
                                                        ? names_of(lane.gpus)
                                                        : fmt::format("{}", fmt::join(uuids, ",")));
    if (by_index && !lane.gpus.empty()) result.emplace_back("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    result.emplace_back("TURNPIKE_LANE", std::to_string(lane_number));
    result.emplace_back("TURNPIKE_POOL", pool.name);
    result.insert(result.end(), pool.worker.env.begin(), pool.worker.env.end());
    return result;
}

std::string python_command(const WorkerConfig& worker, const std::string& sdk) {
    return fmt::format("exec {} {} {}", shell_word(worker.python),
                       shell_word(sdk + "/turnpike_worker.py"),
                       shell_word(model_argument(worker.model)));
}

std::string program_command(const std::string& path) { return "exec " + shell_word(path); }

std::string model_argument(const ModelChoice& model) {
    return model.name.empty() ? model.path : model.path + ':' + model.name;
}

std::vector<std::pair<std::string, std::string>> python_variables(
    const WorkerConfig& worker, const std::vector<std::string>& environment,
    const std::string& sdk) {
    std::string path = value_of(environment, "PYTHONPATH");
    for (const auto& [name, value] : worker.env)
        if (name == "PYTHONPATH") path = value;
    return {{"PYTHONPATH", path.empty() ? sdk : sdk + ':' + path},
            {"PYTORCH_NVML_BASED_CUDA_CHECK", "1"}};
}

std::string filled_command(const std::string& command, const LanePlan& lane,
                           std::size_t lane_number, const Placeholders& values) {
    const bool on_cpu = lane.gpus.empty();
    return filled_placeholders(command, [&](std::string_view word) -> std::optional<std::string> {
        if (word == "port") return std::to_string(values.port);
        if (word == "socket") return shell_word(values.socket);
        if (word == "gpu") return on_cpu ? "cpu" : name_of(lane.gpus.front());
        if (word == "gpus") return on_cpu ? "cpu" : names_of(lane.gpus);
        if (word == "lane") return std::to_string(lane_number);
        return std::nullopt;
    });
}

}  // namespace turnpike
