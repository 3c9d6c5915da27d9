// The keys of pools whose workers Turnpike starts itself.
#include <algorithm>
#include <array>

#include "config/rows.h"

namespace turnpike {
namespace {

constexpr Duration long_time = 720h;
constexpr std::size_t env_max = 256;
constexpr std::size_t env_value_max = 65536;
constexpr std::size_t gpus_max = 256;

using Taken = std::expected<void, std::string>;

template <auto Member>
auto& of_worker(Draft& draft) {
    return draft.pool.config.worker.*Member;
}
template <auto Member>
auto& of_settings(Draft& draft) {
    return draft.pool.config.settings.*Member;
}

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
        return std::unexpected("is no name: letters, digits and underscores, no digit first");
    if (name.starts_with("TURNPIKE_"))
        return std::unexpected("is Turnpike's own: names with TURNPIKE_ are set by it");
    if (name == "CUDA_VISIBLE_DEVICES" || name == "CUDA_DEVICE_ORDER")
        return std::unexpected("is set for each lane as gpus and pin say");
    if (value.size() > env_value_max) return std::unexpected("is longer than 64KiB");
    if (value.contains('\0')) return std::unexpected("has a NUL, which no variable can hold");
    draft.pool.config.worker.env.emplace_back(name, value);
    return {};
}

constexpr std::array worker{
    Key{"gpus", GpusKey{of_worker<&WorkerConfig::gpus>, gpus_max},
        "The GPUs of this pool: a lane each. \"all\" is those that the CUDA_VISIBLE_DEVICES of "
        "`up`\n"
        "allows; without a GPU there are CPU lanes. With several pools each says its own."},
    Key{"gpus_per_lane", CountKey{of_worker<&WorkerConfig::gpus_per_lane>, 1, 64},
        "GPUs that a worker gets."},
    Key{"lanes", CountKey{of_worker<&WorkerConfig::lanes>, 0, lanes_max},
        "Lanes in all: several may share a GPU. 0 is as many as the GPUs make, or four on the "
        "CPU."},
    Key{"pin", TextKey{take_pin, R"("index", "uuid" or "none")", R"("index")"},
        "How CUDA_VISIBLE_DEVICES names a worker's GPUs; \"none\" leaves it alone. Default for a\n"
        "model: \"uuid\"."},
    Key{"env", TableKey{take_env, env_max, R"(variables such as { HF_HOME = "/data/hf" })", "{}"},
        "Further environment of the workers, beside that of `up`."},
    Key{"load_timeout", TimeKey{of_settings<&PoolSettings::load_timeout>, 100ms, long_time},
        "A worker that loads and is silent for this long is started anew."},
    Key{"crash_limit", CountKey{of_settings<&PoolSettings::crash_limit>, 1, crash_limit_max},
        "This many deaths of a lane's workers …"},
    Key{"crash_window", TimeKey{of_settings<&PoolSettings::crash_window>, 1s, long_time},
        "… within this time, and the lane has failed: only `turnpike restart` revives it."},
    Key{"stop_grace", TimeKey{of_settings<&PoolSettings::stop_grace>, 1ms, 1h},
        "From SIGTERM to SIGKILL."},
    Key{"kill_patience", TimeKey{of_settings<&PoolSettings::kill_patience>, 100ms, 1h},
        "A lane whose worker survives SIGKILL this long is put under quarantine."},
    Key{"reload", TextKey{take_reload, R"("auto", "beside" or "in_place")", R"("auto")"},
        "How it goes over to new code: the new workers start beside the old ones, or in their "
        "place,\n"
        "one lane first. \"auto\" is beside for models on the CPU and where the GPUs have room "
        "for\n"
        "it, else in place."},
};

}  // namespace

std::span<const Key> worker_keys() { return worker; }

}  // namespace turnpike
