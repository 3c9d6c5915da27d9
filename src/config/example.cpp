#include "config/example.h"

#include <algorithm>
#include <string_view>

#include "config/keys.h"

namespace turnpike {
namespace {

constexpr std::string_view opening =
    R"(# This file shows every key of turnpike.toml. A line that begins with "#" and no space shows the
# default of a key; remove the "#" to change the value. The comment after a value says what is
# allowed.
#
# Durations need a unit: "500ms", "30s", "10min" (or "10m"), "1h", "30d". Sizes are "100B", "512KiB",
# "64MiB", "1GiB", "1TiB" or a number of bytes. Turnpike reports all mistakes at once, with their
# lines. `turnpike check` looks at the file without starting anything.
)";

std::string prose(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        result.append("# ").append(line).append("\n");
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    return result;
}

/// Returns "[pool.default.proof]" for the prefix "pool.*.proof.".
std::string header_of(const Section& section) {
    std::string name(section.prefix.substr(0, section.prefix.size() - 1));
    if (const std::size_t star = name.find('*'); star != std::string::npos)
        name.replace(star, 1, "default");
    return '[' + name + ']';
}

bool is_needed(const Section& section, const Key& key) {
    return section.prefix == "pool.*." && key.name == "worker";
}

}  // namespace

std::string example_text() {
    std::string text(opening);
    std::string_view table;  // the table of the previous section
    for (const Section& section : sections()) {
        if (!section.description.empty()) text += '\n' + prose(section.description);
        if (section.prefix != table) {
            const bool is_optional = section.prefix == "pool.*.proof.";
            text += (is_optional ? "#" : "") + header_of(section) + '\n';
        }
        table = section.prefix;
        for (const Key& key : section.keys) {
            text += '\n' + prose(key.description) + (is_needed(section, key) ? "" : "#");
            text += std::string(key.name) + " = " + shown_value(key, {});
            text += "  # " + bounds_of(key) + '\n';
        }
    }
    return text;
}

}  // namespace turnpike
