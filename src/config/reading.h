// A configuration while it is being read: the values so far, where each was set, and all mistakes.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/keys.h"

namespace turnpike {

struct Reading {
    Sources sources;
    Draft draft;
    std::vector<Mistake> mistakes;
    std::set<std::string> unsound;  // paths of values with mistakes

    /// Adds a mistake in the value at `path`.
    void add_mistake(std::string_view path, std::string problem);

    [[nodiscard]] bool is_set(const std::string& path) const {
        return sources.origins.contains(path);
    }

    /// True if no mistake has been found in the value at `path` so far.
    [[nodiscard]] bool is_sound(const std::string& path) const { return !unsound.contains(path); }
};

/// Returns false if the text is not TOML. There is nothing more to check then.
[[nodiscard]] bool read_text(Reading&, std::string_view text);

void read_flags(Reading&, const Flags&);

/// Makes the checks that need several values, and computes the values that depend on others.
[[nodiscard]] ConfigOrMistakes settled(Reading);

}  // namespace turnpike
