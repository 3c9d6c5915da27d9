#include "supervisor/reload/generations.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "os/file.h"

namespace turnpike {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view all_name = "/generations";
constexpr std::string_view sources_name = "/sources";

bool make_folder(const std::string& path) {
    return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

/// Parses a kept source: the length of the path (u32, little-endian), the path, the bytes.
std::optional<KeptSource> parse(const std::string& data) {
    std::uint32_t length = 0;
    if (data.size() < sizeof length) return std::nullopt;
    std::memcpy(&length, data.data(), sizeof length);
    if (data.size() - sizeof length < length) return std::nullopt;
    return KeptSource{.path = data.substr(sizeof length, length),
                      .bytes = data.substr(sizeof length + length)};
}

/// Returns a text that changes whenever the file's content changes. Empty if the file is missing.
std::string identity_of(const std::string& path) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0) return {};
    return fmt::format("{} {} {} {}.{}", facts.st_dev, facts.st_ino, facts.st_size,
                       facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

/// Returns the entries that can be read. A range-for over the iterator would throw if a network
/// disk failed midway.
std::vector<fs::path> entries_in(const fs::path& folder) {
    std::vector<fs::path> entries;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        entries.push_back(at->path());
    return entries;
}

/// Links the files beside the program into `folder`, since programs find their weights and
/// libraries relative to their own path.
void link_neighbours(const std::string& program, const fs::path& folder) {
    std::error_code ignored;
    fs::create_directory(folder, ignored);
    const fs::path home = fs::canonical(program, ignored).parent_path();
    for (const fs::path& entry : entries_in(home))
        if (entry.filename() != fs::path(program).filename())
            fs::create_symlink(entry, folder / entry.filename(), ignored);
}

}  // namespace

Generations::Generations(const std::string& runtime_folder, const std::vector<PoolConfig>& pools) {
    const std::string all = runtime_folder + std::string(all_name);
    std::error_code ignored;
    fs::remove_all(all, ignored);  // the generations of an earlier gate
    make_folder(all);
    for (const PoolConfig& pool : pools) {
        pools_.push_back({.home = all + "/" + pool.name});
        make_folder(pools_.back().home);
    }
}

std::string Generations::folder(std::size_t pool, Generation generation) const {
    std::string path = home(pool) + "/" + std::to_string(generation.value);
    if (!make_folder(path) || !make_folder(path + std::string(sources_name))) return {};
    return path;
}

std::vector<KeptSource> sources_in(const std::string& folder) {
    std::vector<KeptSource> sources;
    for (const fs::path& entry : entries_in(folder + std::string(sources_name))) {
        if (entry.filename().string().starts_with('.')) continue;  // still being written
        std::error_code error;
        if (!fs::is_regular_file(entry, error)) continue;
        if (auto source = parse(read_file(entry).value_or("")))
            sources.push_back(*std::move(source));
    }
    return sources;
}

void forget_sources(const std::string& folder) {
    std::error_code ignored;
    for (const fs::path& entry : entries_in(folder + std::string(sources_name)))
        fs::remove(entry, ignored);
}

void touch_generations(const std::string& runtime_folder) {
    std::error_code ignored;
    const fs::recursive_directory_iterator all(runtime_folder + std::string(all_name), ignored);
    for (auto entry = begin(all); entry != end(all); entry.increment(ignored))
        ::utimensat(AT_FDCWD, entry->path().c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void remove_generation(const std::string& folder) {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
}

KeptProgram::KeptProgram(std::string original, const std::string& folder)
    : original_(std::move(original)),
      copy_(folder.empty() ? "" : folder + "/program/" + fs::path(original_).filename().string()),
      identity_(identity_of(original_)) {}

bool KeptProgram::copy() const {
    if (copy_.empty()) return false;
    std::error_code error;
    link_neighbours(original_, fs::path(copy_).parent_path());
    fs::copy_file(original_, copy_, fs::copy_options::overwrite_existing, error);
    if (!error) fs::permissions(copy_, fs::perms::owner_all, error);
    // If the disk does not allow programs to run, the copy is useless.
    return !error && identity_of(original_) == identity_ && ::access(copy_.c_str(), X_OK) == 0;
}

const std::string& KeptProgram::path() const {
    return has_copy_ && identity_of(original_) != identity_ ? copy_ : original_;
}

}  // namespace turnpike
