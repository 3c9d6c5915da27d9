// The keys of pools that have a model.
#include <algorithm>
#include <array>

#include "config/row_parts.h"
#include "config/rows.h"
#include "config/text.h"

namespace turnpike {
namespace {

constexpr std::size_t preload_max = 64;

Taken take_python(Draft& draft, std::string_view text) {
    if (std::string problem = problem_with_line(text, Bytes{4096}); !problem.empty())
        return std::unexpected(std::move(problem));
    draft.pool.config.worker.python = text;
    return {};
}

Taken take_errors(Draft& draft, std::string_view text) {
    if (text != "loopback" && text != "full")
        return std::unexpected(R"(must be "loopback" or "full")");
    draft.pool.config.errors = text == "full" ? ErrorsShown::full : ErrorsShown::to_loopback;
    return {};
}

/// True for names with dots between them: "torch", "transformers.models".
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
        return std::unexpected(
            R"(is not the name of a module, such as "torch" or "transformers.utils")");
    draft.pool.config.worker.preload.emplace_back(text);
    return {};
}

constexpr std::array native{
    Key{"python", TextKey{take_python, R"(a path, a name to find in the PATH, or "")", R"("")"},
        "The Python interpreter for the model. A path is relative to the folder of this file.\n"
        "\"\" takes the first of: $VIRTUAL_ENV, a .venv beside the model, $CONDA_PREFIX,\n"
        "python3 in the PATH."},
    Key{"batch",
        CountKey{[](Draft& draft) -> std::uint32_t& { return draft.pool.batch; }, 0, batch_max},
        "How many waiting jobs a slot takes together. 0 uses what the model says."},
    Key{"errors", TextKey{take_errors, R"("loopback" or "full")", R"("loopback")"},
        "Which clients see the text of a model's exceptions: those on this machine\n"
        "(\"loopback\") or all (\"full\"). The text of a BadInput is always shown."},
    Key{"watch", FlagKey{of_worker<&WorkerConfig::watch>},
        "Reload the pool when you save the model's file, or a file of yours that it imports.\n"
        "The same as `turnpike up --watch`."},
    Key{"warm", FlagKey{of_worker<&WorkerConfig::warm>},
        "Start workers of a Python model by forking the warm process, which has already done\n"
        "the imports. With false, each start imports again. See docs/reload.md."},
    Key{"preload", ListKey{take_preload, preload_max, R"(modules such as "torch")", "[]"},
        "The modules that the warm process imports. With [] it imports what the model was seen\n"
        "to import. It never imports files of your own."},
};

}  // namespace

std::span<const Key> native_keys() { return native; }

}  // namespace turnpike
