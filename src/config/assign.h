// One value of the file, or of a flag, into the draft.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/keys.h"
#include "config/tree.h"

namespace turnpike {

struct Flaw {
    std::string problem;
    std::string within;  // the part of the value that has it: "[2]", ".HOME"; "": the whole
};

/// How parts of a value are called, after its own path.
[[nodiscard]] std::string item_path(std::size_t item);
[[nodiscard]] std::string entry_path(const std::string& name);

/// A value with flaws leaves the draft as it was, except that the good parts of a list or a table are
/// taken.
[[nodiscard]] std::vector<Flaw> assign(const Key&, const Node&, Draft&);

}  // namespace turnpike
