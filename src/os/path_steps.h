// What decides where a path leads: the folder entries that one would change to make the path lead
// to another file.
#pragma once

#include <string>
#include <vector>

namespace turnpike {

/// An entry of a folder. The path of the folder contains no link, and the folder existed a moment
/// ago.
struct PathStep {
    std::string folder;
    std::string name;
    friend auto operator<=>(const PathStep&, const PathStep&) = default;
};

/// Returns each link on the way and then the file itself, or the first entry that is missing.
/// `path` must be absolute.
[[nodiscard]] std::vector<PathStep> steps_to(const std::string& path);

}  // namespace turnpike
