// What went wrong with a lane. What everybody may read is kept apart from what the lane's worker
// printed or answered: that may be confidential.
#pragma once

#include <string>

namespace turnpike {

struct LaneTrouble {
    std::string told;  // in our own words, for everybody: "exit code 1"
    std::string said;  // the worker's own words, for admins: "ImportError: no torch"; may be empty

    [[nodiscard]] bool empty() const { return told.empty() && said.empty(); }
    friend bool operator==(const LaneTrouble&, const LaneTrouble&) = default;
};

/// Returns all of it in one text, for admins: "exit code 1: ImportError: no torch".
[[nodiscard]] inline std::string text_of(const LaneTrouble& trouble) {
    return trouble.told + (trouble.told.empty() || trouble.said.empty() ? "" : ": ") + trouble.said;
}

}  // namespace turnpike
