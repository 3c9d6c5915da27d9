// One value of the file, or of a flag, into the draft.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "config/keys.h"
#include "config/tree.h"

namespace turnpike {

struct Flaw {
    std::string problem;
    std::optional<std::size_t> item;  // of a list
};

/// A value with flaws leaves the draft as it was, except that the good items of a list are taken.
[[nodiscard]] std::vector<Flaw> assign(const Key&, const Node&, Draft&);

}  // namespace turnpike
