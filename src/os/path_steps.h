// What decides where a path leads: the entries of folders that somebody would change to make it lead to
// other bytes.
#pragma once

#include <string>
#include <vector>

namespace turnpike {

/// An entry of a folder; the folder itself is no link, and was there a moment ago.
struct PathStep {
    std::string folder;
    std::string name;
    friend auto operator<=>(const PathStep&, const PathStep&) = default;
};

/// Each link on the way, and the file itself; where something is missing, that and nothing beyond.
/// `path` is absolute.
[[nodiscard]] std::vector<PathStep> steps_to(const std::string& path);

}  // namespace turnpike
