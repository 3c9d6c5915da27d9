// The keys of pools that have a model.
#include <array>

#include "config/rows.h"
#include "config/text.h"

namespace turnpike {
namespace {

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
};

}  // namespace

std::span<const Key> native_keys() { return native; }

}  // namespace turnpike
