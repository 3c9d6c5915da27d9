// Python files that a folder offers for import, by their looks: its *.py and the __init__.py of its
// packages. Hidden ones, caches and virtual environments are not looked into.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike {

struct Importable {
    std::set<std::string> files;        // absolute where the folder is
    std::vector<std::string> packages;  // folders that are packages, or may become some
};
[[nodiscard]] Importable importable_in(const std::string& folder);

/// Whether an entry of that name may matter to it.
[[nodiscard]] bool may_be_importable(std::string_view name);

}  // namespace turnpike
