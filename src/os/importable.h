// Python files that can be imported from a folder, judged by their names: its *.py files and the
// __init__.py of its packages. Hidden folders, caches and virtual environments are skipped.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike {

struct Importable {
    std::set<std::string> files;        // absolute if the folder's path is
    std::vector<std::string> packages;  // folders that are packages, or may become packages
};
[[nodiscard]] Importable importable_in(const std::string& folder);

/// True if importable_in() might return a file of that name, or look into a folder of that name.
[[nodiscard]] bool may_be_importable(std::string_view name);

}  // namespace turnpike
