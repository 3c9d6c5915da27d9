// Shared by the tests of this folder: configurations as text, and their mistakes as lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace turnpike::test {

inline constexpr std::string_view one_pool = "[pool.a]\nattach = [\"http://h:1\"]\n";

/// Returns a correct pool, followed by `lines` from line 3.
inline std::string after_pool(std::string_view lines) {
    return std::string(one_pool).append(lines);
}

inline constexpr std::string_view one_started = "[pool.a]\nworker = \"x {port}\"\n";

/// The same as after_pool(), with a pool whose workers Turnpike starts.
inline std::string after_started(std::string_view lines) {
    return std::string(one_started).append(lines);
}

inline std::vector<std::string> lines_of(const ConfigOrMistakes& result) {
    std::vector<std::string> lines;
    if (!result)
        for (const Mistake& mistake : result.error()) lines.push_back(text_of(mistake));
    return lines;
}

inline std::vector<std::string> mistakes_in(std::string_view text) {
    return lines_of(parse_config(text, "t.toml"));
}

/// Returns the mistakes in a file whose first line is `line` and whose other lines are correct.
inline std::vector<std::string> mistakes_of(std::string_view line) {
    return mistakes_in(std::string(line).append("\n").append(one_pool));
}

inline std::vector<std::string> mistakes_of_pool(std::string_view lines) {
    return mistakes_in(after_pool(lines));
}

}  // namespace turnpike::test
