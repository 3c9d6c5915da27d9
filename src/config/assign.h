// Checks one value of the file or of a flag and stores it in the draft.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/keys.h"
#include "config/tree.h"

namespace turnpike {

struct Flaw {
    std::string problem;
    std::string within;  // the wrong part of the value: "[2]", ".HOME"; empty if all of it is wrong
};

/// Return what to append to the path of a list or a table to name one of its parts.
[[nodiscard]] std::string item_path(std::size_t item);
[[nodiscard]] std::string entry_path(const std::string& name);

/// Stores the value in the draft. Returns its flaws. A value with flaws leaves the draft unchanged,
/// except that the good parts of a list or a table are stored.
[[nodiscard]] std::vector<Flaw> assign(const Key&, const Node&, Draft&);

}  // namespace turnpike
