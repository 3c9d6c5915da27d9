#include "os/path_steps.h"

#include <cstddef>
#include <deque>
#include <filesystem>
#include <system_error>

namespace turnpike {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t links_max = 40;  // as in the kernel

/// Puts the parts of `path` in front of the parts that are left.
void put_before(std::deque<fs::path>& rest, const fs::path& path) {
    rest.insert(rest.begin(), path.begin(), path.end());
}

}  // namespace

std::vector<PathStep> steps_to(const std::string& path) {
    std::vector<PathStep> steps;
    std::deque<fs::path> rest;
    put_before(rest, path);
    fs::path at = "/";
    for (std::size_t links = 0; !rest.empty() && links < links_max;) {
        const fs::path name = rest.front();
        rest.pop_front();
        if (name.empty() || name == "." || name == "/") continue;
        if (name == "..") {
            at = at.parent_path();
            continue;
        }
        std::error_code error;
        const fs::file_type type = fs::symlink_status(at / name, error).type();
        if (type == fs::file_type::directory && !rest.empty()) {
            at /= name;
            continue;
        }
        steps.push_back({.folder = at, .name = name});
        if (type != fs::file_type::symlink) break;
        const fs::path target = fs::read_symlink(at / name, error);
        if (error) break;
        if (target.is_absolute()) at = "/";
        put_before(rest, target);
        ++links;
    }
    return steps;
}

}  // namespace turnpike
