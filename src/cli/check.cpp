#include "cli/check.h"

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json.hpp>

#include "cli/command.h"
#include "cli/print.h"
#include "config/example.h"
#include "setup/checked_config.h"
#include "setup/config_choice.h"
#include "setup/environment.h"
#include "setup/this_machine.h"

namespace turnpike {
namespace {

namespace json = boost::json;

std::string count_text(std::size_t count, std::string_view one) {
    return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

bool is_default_pool(const Config& config, const PoolConfig& pool) {
    return pool.is_default || config.pools.size() == 1;
}

/// Returns "0 (NVIDIA H200)", or the name of a MIG device.
std::string gpu_text(const Gpu& gpu) {
    const std::string name = gpu.index ? std::to_string(*gpu.index) : gpu.uuid;
    return gpu.name.empty() ? name : fmt::format("{} ({})", name, gpu.name);
}

/// Returns where the lane's worker runs: "http://…", "GPU 0 (NVIDIA H200)", "GPUs 0 (…), 1 (…)",
/// "CPU".
std::string lane_text(const LanePlan& lane) {
    if (lane.url != nullptr) return lane.url->text;
    if (lane.gpus.empty()) return "CPU";
    std::vector<std::string> names;
    for (const Gpu& gpu : lane.gpus) names.push_back(gpu_text(gpu));
    return fmt::format("GPU{} {}", names.size() == 1 ? "" : "s", fmt::join(names, ", "));
}

json::object lane_object(const LanePlan& lane, std::size_t number) {
    json::array gpus;
    for (const Gpu& gpu : lane.gpus)
        gpus.push_back({{"index", gpu.index ? json::value(*gpu.index) : json::value(nullptr)},
                        {"uuid", gpu.uuid},
                        {"name", gpu.name}});
    return {{"lane", number}, {"gpus", std::move(gpus)}};
}

/// False if the model itself says how many slots it has.
bool has_configured_slots(const PoolConfig& pool) {
    return !pool.is_native() || pool.worker.slots_configured != 0;
}

std::string slots_text(const PoolConfig& pool) {
    return has_configured_slots(pool) ? count_text(pool.settings.slots, "slot") + " each"
                                      : "slots as the model says";
}

/// Returns "/srv/model.py:Digits".
std::string model_text(const ModelChoice& model) {
    return model.path + (model.name.empty() ? "" : ":" + model.name);
}

void add_model(json::object& object, const CheckedConfig& checked, std::size_t number) {
    const WorkerConfig& worker = checked.config.pools[number].worker;
    object["model"] = model_text(worker.model);
    if (worker.batch_configured != 0) object["batch"] = worker.batch_configured;
    if (worker.model.kind != ModelChoice::Kind::python) return;
    object["python"] = worker.python;
    object["python_why"] = checked.python_why[number];
}

/// Returns a line or two about what the pool's workers run. Empty if the workers are attached.
std::string command_text(const CheckedConfig& checked, std::size_t number) {
    const WorkerConfig& worker = checked.config.pools[number].worker;
    if (!worker.command.empty()) return fmt::format("  starts {}\n", worker.command);
    std::string text;
    if (worker.model.kind != ModelChoice::Kind::none)
        text += fmt::format("  model {}\n", model_text(worker.model));
    if (worker.model.kind == ModelChoice::Kind::python)
        text += fmt::format(
            "  python {} ({})\n"
            "  the model itself is not loaded here; to try it (after pip install sdk/python): "
            "{} -m turnpike check {}\n",
            worker.python, checked.python_why[number], worker.python, model_text(worker.model));
    return text;
}

json::object pool_object(const CheckedConfig& checked, std::size_t number) {
    const PoolConfig& pool = checked.config.pools[number];
    json::array workers;
    json::array lanes;
    for (const WorkerUrl& worker : pool.attach) workers.emplace_back(worker.text);
    for (std::size_t i = 0; i < checked.lanes.size(); ++i)
        if (checked.lanes[i].pool == number) lanes.push_back(lane_object(checked.lanes[i], i));
    json::object object{
        {"pool", pool.name},
        {"slots", has_configured_slots(pool) ? json::value(pool.settings.slots) : nullptr},
        {"default", is_default_pool(checked.config, pool)},
        {"workers", std::move(workers)}};
    if (pool.is_native()) add_model(object, checked, number);
    if (!pool.worker.command.empty()) object["worker"] = pool.worker.command;
    object["lanes"] = std::move(lanes);
    return object;
}

/// Returns why a pool that asks for GPUs gets none. Empty if it has some, or does not ask.
std::string cpu_reason(const CheckedConfig& checked, const PoolConfig& pool) {
    const bool would_like = pool.is_started() && pool.worker.gpus.kind != GpuChoice::Kind::none;
    return would_like && checked.machine.gpus.empty() ? checked.machine.no_gpus : "";
}

}  // namespace

std::string served_text(const CheckedConfig& checked) {
    const Config& config = checked.config;
    std::string text = fmt::format("listens on {}{}\n", text_of(config.gate.listen),
                                   config.gate.listen.port == 0 ? " (any free port)" : "");
    if (!checked.machine.remark.empty()) text += checked.machine.remark + '\n';
    for (std::size_t number = 0; number < config.pools.size(); ++number) {
        const PoolConfig& pool = config.pools[number];
        text += fmt::format("pool {}: {}, {}{}\n", pool.name,
                            count_text(pool.settings.lanes, "lane"), slots_text(pool),
                            is_default_pool(config, pool) ? ", takes jobs that name no pool" : "");
        text += command_text(checked, number);
        if (const std::string reason = cpu_reason(checked, pool); !reason.empty())
            text += fmt::format("  on the CPU: {}\n", reason);
        for (std::size_t i = 0; i < checked.lanes.size(); ++i)
            if (checked.lanes[i].pool == number)
                text += fmt::format("  lane {}  {}\n", i, lane_text(checked.lanes[i]));
    }
    return text;
}

std::string served_json(const CheckedConfig& checked) {
    json::array pools;
    for (std::size_t i = 0; i < checked.config.pools.size(); ++i)
        pools.push_back(pool_object(checked, i));
    return json::serialize(json::object{{"listen", text_of(checked.config.gate.listen)},
                                        {"pools", std::move(pools)}}) +
           "\n";
}

std::string pythons_text(const CheckedConfig& checked) {
    std::set<std::string> lines;
    for (std::size_t i = 0; i < checked.config.pools.size(); ++i)
        if (!checked.python_why[i].empty())
            lines.insert(fmt::format("turnpike: python: {} ({})\n",
                                     checked.config.pools[i].worker.python, checked.python_why[i]));
    return fmt::format("{}", fmt::join(lines, ""));
}

std::string mistakes_text(std::span<const Mistake> mistakes) {
    std::string text;
    for (const Mistake& mistake : mistakes) text += text_of(mistake) + '\n';
    return text;
}

std::string mistakes_json(std::span<const Mistake> mistakes) {
    json::array list;
    for (const Mistake& mistake : mistakes)
        list.push_back({{"file", mistake.file},
                        {"line", mistake.line},
                        {"key", mistake.key},
                        {"problem", mistake.problem}});
    return json::serialize(json::object{{"mistakes", std::move(list)}}) + "\n";
}

namespace {

int print_served(const CheckedConfig& checked, const CheckCommand& command) {
    const GateConfig& gate = checked.config.gate;
    const int printed = print(command.json ? served_json(checked) : served_text(checked));
    const auto path = key_file();
    if (!path) return complain(path.error());
    if (const auto objection = objection_to_listening(gate, KeyFile(*path, key_need(gate))))
        return complain(*objection);
    return printed;
}

}  // namespace

int run(const CheckCommand& command) {
    if (command.example) return print(example_text());
    const auto chosen = choose_config(config_choice(command.config, command.flags));
    if (!chosen) return complain(chosen.error(), exit_usage);
    Flags flags = command.flags;
    flags.model = chosen->model;
    const auto find_machine = [] {
        std::optional<GpuDriver> driver;
        return this_machine(driver);
    };
    const auto checked = checked_config(chosen->file, flags, find_machine, this_python);
    if (checked) return print_served(*checked, command);
    if (!command.json) {
        print_to_stderr(mistakes_text(checked.error()));
        return exit_usage;
    }
    const int printed = print(mistakes_json(checked.error()));
    return printed == exit_done ? exit_usage : printed;
}

}  // namespace turnpike
