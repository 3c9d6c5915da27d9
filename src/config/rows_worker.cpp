// The keys of pools whose workers Turnpike starts itself.
#include <algorithm>
#include <array>

#include "config/row_parts.h"
#include "config/rows.h"

namespace turnpike {
namespace {

constexpr std::size_t env_max = 256;
constexpr std::size_t env_value_max = 65536;
constexpr std::size_t gpus_max = 256;

Taken take_pin(Draft& draft, std::string_view text) {
    constexpr std::array pins{std::pair{std::string_view("index"), Pin::index},
                              std::pair{std::string_view("uuid"), Pin::uuid},
                              std::pair{std::string_view("none"), Pin::none}};
    for (const auto& [name, pin] : pins) {
        if (text != name) continue;
        draft.pool.pin = pin;
        return {};
    }
    return std::unexpected(R"(must be "index", "uuid" or "none")");
}

Taken take_reload(Draft& draft, std::string_view text) {
    constexpr std::array choices{std::pair{std::string_view("auto"), ReloadChoice::automatic},
                                 std::pair{std::string_view("beside"), ReloadChoice::beside},
                                 std::pair{std::string_view("in_place"), ReloadChoice::in_place}};
    for (const auto& [name, choice] : choices) {
        if (text != name) continue;
        draft.pool.config.worker.reload = choice;
        return {};
    }
    return std::unexpected(R"(must be "auto", "beside" or "in_place")");
}

bool is_variable(std::string_view name) {
    constexpr std::string_view letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
           name.find_first_not_of(letters) == std::string_view::npos;
}

Taken take_env(Draft& draft, const std::string& name, std::string_view value) {
    if (!is_variable(name))
        return std::unexpected(
            "is not a valid name: use letters, digits and underscores, no digit first");
    if (name.starts_with("TURNPIKE_"))
        return std::unexpected(
            "is reserved: Turnpike itself sets the variables that begin with TURNPIKE_");
    if (name == "CUDA_VISIBLE_DEVICES" || name == "CUDA_DEVICE_ORDER")
        return std::unexpected(
            "is set by Turnpike for each lane: use the keys gpus and pin instead");
    if (value.size() > env_value_max) return std::unexpected("is longer than 64KiB");
    if (value.contains('\0')) return std::unexpected("has a NUL byte, which no variable can hold");
    draft.pool.config.worker.env.emplace_back(name, value);
    return {};
}

constexpr std::array worker{
    Key{"gpus", GpusKey{of_worker<&WorkerConfig::gpus>, gpus_max},
        "The GPUs of this pool, one lane each. \"all\" takes those that CUDA_VISIBLE_DEVICES of\n"
        "`turnpike up` allows; if there is no GPU, the lanes run on the CPU. \"none\" asks for\n"
        "CPU lanes. With several pools, set gpus in each."},
    Key{"gpus_per_lane", CountKey{of_worker<&WorkerConfig::gpus_per_lane>, 1, 64},
        "How many GPUs each worker gets. Raise it for models that need several."},
    Key{"lanes", CountKey{of_worker<&WorkerConfig::lanes>, 0, lanes_max},
        "The number of lanes. Several lanes may share a GPU. 0 makes one lane for each\n"
        "gpus_per_lane GPUs, or four lanes on the CPU."},
    Key{"pin", TextKey{take_pin, R"("index", "uuid" or "none")", R"("index")"},
        "How CUDA_VISIBLE_DEVICES names a worker's GPUs. \"none\" leaves the variable alone.\n"
        "The default for a model is \"uuid\"."},
    Key{"env", TableKey{take_env, env_max, R"(variables such as { HF_HOME = "/data/hf" })", "{}"},
        "Environment variables for the workers, in addition to those of `turnpike up`."},
    Key{"load_timeout", TimeKey{of_settings<&PoolSettings::load_timeout>, 100ms, long_time},
        "A worker that prints nothing and reports no progress for this long while it loads is\n"
        "started again."},
    Key{"crash_limit", CountKey{of_settings<&PoolSettings::crash_limit>, 1, crash_limit_max},
        "After this many worker crashes within crash_window the lane has failed. It tries again\n"
        "every revive_every, and at once with `turnpike restart` or a reload."},
    Key{"crash_window", TimeKey{of_settings<&PoolSettings::crash_window>, 1s, long_time},
        "The time over which crash_limit counts crashes."},
    Key{"revive_every", TimeKey{of_settings<&PoolSettings::revive_every>, 100ms, long_time},
        "How often a failed lane tries to start again. If its worker crashes before it has\n"
        "served for restart_good_run, the lane has failed again."},
    Key{"stop_grace", TimeKey{of_settings<&PoolSettings::stop_grace>, 1ms, 1h},
        "How long a worker may take to end after it was asked to stop. Then it is killed."},
    Key{"kill_patience", TimeKey{of_settings<&PoolSettings::kill_patience>, 100ms, 1h},
        "How long a killed worker may take to disappear. Then its lane is quarantined."},
    Key{"reload", TextKey{take_reload, R"("auto", "beside" or "in_place")", R"("auto")"},
        "How a reload replaces the workers. \"beside\" starts the new ones while the old ones\n"
        "still serve. \"in_place\" ends the old worker of a lane before it starts the new one:\n"
        "in one lane first, then in the others. \"auto\" is \"beside\" for models on the CPU\n"
        "and where the GPUs have room for both, else \"in_place\"."},
};

}  // namespace

std::span<const Key> worker_keys() { return worker; }

}  // namespace turnpike
