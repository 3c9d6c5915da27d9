// A configuration on its way: what has been understood, where it was said, and all that is wrong.
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

    /// Of the value at `path`.
    void add_mistake(std::string_view path, std::string problem);

    [[nodiscard]] bool is_set(const std::string& path) const {
        return sources.origins.contains(path);
    }

    /// Nobody has found a mistake in that value yet.
    [[nodiscard]] bool is_sound(const std::string& path) const { return !unsound.contains(path); }
};

/// False: it is no TOML, so there is nothing more to judge.
[[nodiscard]] bool read_text(Reading&, std::string_view text);

void read_flags(Reading&, const Flags&);

/// The checks that need several values, and the values that follow from others.
[[nodiscard]] ConfigOrMistakes settled(Reading);

}  // namespace turnpike
