// The keys of pools that have a model.
#include <algorithm>
#include <array>

#include "config/rows.h"
#include "config/text.h"

namespace turnpike {
namespace {

constexpr std::size_t preload_max = 64;

using Taken = std::expected<void, std::string>;

Taken take_python(Draft& draft, std::string_view text) {
    constexpr std::size_t length_max = 4096;
    if (text.size() > length_max) return std::unexpected("is longer than 4KiB");
    if (has_control_characters(text))
        return std::unexpected("has a line break or another control character");
    draft.pool.config.worker.python = text;
    return {};
}

Taken take_errors(Draft& draft, std::string_view text) {
    if (text != "loopback" && text != "full")
        return std::unexpected(R"(must be "loopback" or "full")");
    draft.pool.config.errors = text == "full" ? ErrorsShown::full : ErrorsShown::to_loopback;
    return {};
}

/// "torch", "transformers.models": names between dots.
bool is_module(std::string_view text) {
    constexpr std::size_t length_max = 256;
    if (text.size() > length_max) return false;
    for (bool is_last = false; !is_last;) {
        const std::size_t dot = text.find('.');
        is_last = dot == std::string_view::npos;
        const std::string_view name = text.substr(0, dot);
        const bool is_name = std::ranges::all_of(name, [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   c == '_';
        });
        if (!is_name || name.empty() || (name.front() >= '0' && name.front() <= '9')) return false;
        text.remove_prefix(is_last ? text.size() : dot + 1);
    }
    return true;
}

Taken take_preload(Draft& draft, std::string_view text) {
    if (!is_module(text))
        return std::unexpected(R"(is no module's name, such as "torch" or "transformers.utils")");
    draft.pool.config.worker.preload.emplace_back(text);
    return {};
}

template <auto Member>
auto& of_worker(Draft& draft) {
    return draft.pool.config.worker.*Member;
}

constexpr std::array native{
    Key{"python", TextKey{take_python, R"(a path, or a name for the PATH; "" is unsaid)", R"("")"},
        "The interpreter of a Python model. Unsaid, it is the first of $VIRTUAL_ENV, a .venv "
        "beside\n"
        "the model, $CONDA_PREFIX, and python3 of the PATH. Relative to the folder of this file."},
    Key{"batch",
        CountKey{[](Draft& draft) -> std::uint32_t& { return draft.pool.batch; }, 0, batch_max},
        "Waiting jobs that a slot takes together. 0 is as the model says."},
    Key{"errors", TextKey{take_errors, R"("loopback" or "full")", R"("loopback")"},
        "Who gets to read what a model's exceptions say: clients of this machine, or all. What it\n"
        "says of bad input is for everybody."},
    Key{"watch", FlagKey{of_worker<&WorkerConfig::watch>},
        "A save of the model's file, or of a file of yours that it imports, reloads the pool. "
        "Also:\n"
        "turnpike up --watch"},
    Key{"warm", FlagKey{of_worker<&WorkerConfig::warm>},
        "Workers of a Python model are forked from a process that has done their imports.\n"
        "false: each start imports anew (docs/reload.md)."},
    Key{"preload", ListKey{take_preload, preload_max, R"(modules such as "torch")", "[]"},
        "What that process imports, instead of what the model was seen to import. Never files of\n"
        "your own."},
};

}  // namespace

std::span<const Key> native_keys() { return native; }

}  // namespace turnpike
