// A configuration on its way: what has been understood, where it was said, and all that is wrong.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/keys.h"

namespace turnpike {

/// Where a value was said.
struct Origin {
    int line = 0;
    std::string flag;  // "": in the file
};

struct Reading {
    std::string file;
    Draft draft;
    std::map<std::string, Origin> origins;  // by path: "gate.listen", "pool.chat.attach[1]"
    std::vector<Mistake> mistakes;
    std::set<std::string> unsound;  // paths of values with mistakes

    /// Of the value at `path`. What was not said has the line of the table around it.
    void wrong(std::string_view path, std::string problem);

    /// Nobody has found a mistake in that value yet.
    [[nodiscard]] bool is_sound(const std::string& path) const { return !unsound.contains(path); }
};

/// False: it is no TOML, so there is nothing more to judge.
[[nodiscard]] bool read_text(Reading&, std::string_view text);

void read_flags(Reading&, const Flags&);

/// The checks that need several values, and the values that follow from others.
[[nodiscard]] ConfigOrMistakes settled(Reading);

}  // namespace turnpike
