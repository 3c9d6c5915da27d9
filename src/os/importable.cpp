#include "os/importable.h"

#include <cstddef>
#include <filesystem>
#include <system_error>

namespace turnpike {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t packages_max = 256;
constexpr std::size_t entries_max = 10'000;  // of one folder; the rest is ignored

bool is_of_no_interest(std::string_view name) {
    return name.starts_with('.') || name == "__pycache__" || name == "node_modules" ||
           name == "site-packages";
}

bool is_there(const fs::path& path) {
    std::error_code error;
    return fs::exists(path, error);
}

}  // namespace

bool may_be_importable(std::string_view name) {
    if (is_of_no_interest(name)) return false;
    return name.ends_with(".py") || !name.contains('.');
}

Importable importable_in(const std::string& folder) {
    Importable found;
    std::error_code error;
    std::size_t seen = 0;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename();
        if (++seen > entries_max) break;
        if (!may_be_importable(name)) continue;
        std::error_code gone;
        if (!entry->is_directory(gone)) {
            if (name.ends_with(".py")) found.files.insert(entry->path());
            continue;
        }
        if (is_there(entry->path() / "pyvenv.cfg") || found.packages.size() >= packages_max)
            continue;
        found.packages.push_back(entry->path());
        if (const fs::path init = entry->path() / "__init__.py"; is_there(init))
            found.files.insert(init);
    }
    return found;
}

}  // namespace turnpike
