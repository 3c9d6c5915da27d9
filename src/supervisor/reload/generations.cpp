#include "supervisor/reload/generations.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "os/file.h"

namespace turnpike {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view all_name = "/generations";
constexpr std::string_view sources_name = "/sources";

constexpr std::size_t mebibyte = std::size_t{1024} * 1024;
constexpr std::size_t copied_bytes_max = 64 * mebibyte;  // of a generation's sources
constexpr std::size_t copied_files_max = 10'000;         // of them
constexpr std::size_t read_at_once_max = 4 * mebibyte;   // by one look, which the loop waits for

/// Makes a folder that is missing, or that was replaced by something else.
bool make_folder(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) == 0) return true;
    struct stat found{};
    if (errno != EEXIST || ::lstat(path.c_str(), &found) != 0) return false;
    if (S_ISDIR(found.st_mode))
        return (found.st_mode & 0700) == 0700 || ::chmod(path.c_str(), 0700) == 0;
    return ::unlink(path.c_str()) == 0 && ::mkdir(path.c_str(), 0700) == 0;
}

/// Returns a text that changes when files are added to the folder or removed from it. Empty if it
/// is gone.
std::string stamp_of(const std::string& folder) {
    struct stat found{};
    if (::lstat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return {};
    return fmt::format("{} {} {}.{}", found.st_dev, found.st_ino, found.st_mtim.tv_sec,
                       found.st_mtim.tv_nsec);
}

/// Writes the file in one step, unless it is there.
void publish(const fs::path& path, const std::string& bytes) {
    const fs::path fresh = path.parent_path() / ("." + path.filename().string() + ".gate");
    {
        const UniqueFd file(
            ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (!file || !write_all(file.get(), bytes)) return;
    }
    std::ignore = ::link(fresh.c_str(), path.c_str());
    ::unlink(fresh.c_str());
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

/// Returns the entries that can be read, at most so many. A range-for over the iterator would throw
/// if a network disk failed midway.
std::vector<fs::path> entries_in(const fs::path& folder,
                                 std::size_t max = std::numeric_limits<std::size_t>::max()) {
    std::vector<fs::path> entries;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        if (entries.size() == max) break;
        entries.push_back(at->path());
    }
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
    std::error_code ignored;
    fs::remove_all(runtime_folder + std::string(all_name), ignored);  // those of an earlier gate
    for (const PoolConfig& pool : pools) names_.push_back(pool.name);
    pools_.resize(pools.size());
    move_to(runtime_folder);
}

void Generations::move_to(const std::string& runtime_folder) {
    const std::string all = runtime_folder + std::string(all_name);
    make_folder(all);
    for (std::size_t i = 0; i < pools_.size(); ++i) {
        pools_[i].home = all + "/" + names_[i];
        make_folder(pools_[i].home);
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

void SourceCopies::look(const std::string& folder) {
    const std::string sources = folder + std::string(sources_name);
    if (stamp_of(sources) == stamp_ && !stamp_.empty()) return;
    const bool is_all = read_new(sources);
    restore(folder);
    stamp_ = is_all ? stamp_of(sources) : "";
}

bool SourceCopies::read_new(const std::string& sources) {
    std::size_t read = 0;
    for (const fs::path& entry : entries_in(sources, copied_files_max)) {
        const std::string name = entry.filename().string();
        if (name.starts_with('.') || files_.contains(name)) continue;
        struct stat found{};
        if (::lstat(entry.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
        const auto size = static_cast<std::size_t>(found.st_size);
        if (size > copied_bytes_max - bytes_) continue;
        if (read > 0 && read + size > read_at_once_max) return false;
        auto bytes = read_file(entry, size);
        if (!bytes) continue;
        read += bytes->size();
        bytes_ += bytes->size();
        files_.emplace(name, *std::move(bytes));
    }
    return true;
}

void SourceCopies::restore(const std::string& folder) const {
    const fs::path sources = folder + std::string(sources_name);
    std::error_code ignored;
    if (!make_folder(folder) || !make_folder(sources)) return;
    for (const auto& [name, bytes] : files_) {
        const fs::path path = sources / name;
        struct stat found{};
        const bool is_there = ::lstat(path.c_str(), &found) == 0;
        if (is_there && S_ISREG(found.st_mode)) continue;
        if (is_there) fs::remove_all(path, ignored);
        publish(path, bytes);
    }
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

void KeptProgram::copied() {
    has_copy_ = true;
    held_copy_ = std::make_shared<UniqueFd>(::open(copy_.c_str(), O_RDONLY | O_CLOEXEC));
}

bool KeptProgram::move_to(const std::string& folder) {
    if (original_.empty()) return true;
    copy_ = folder + "/program/" + fs::path(original_).filename().string();
    if (!has_copy_ || held_copy_ == nullptr || !*held_copy_) return true;
    std::error_code error;
    if (fs::exists(copy_, error)) return true;
    link_neighbours(original_, fs::path(copy_).parent_path());
    fs::copy_file(fmt::format("/proc/self/fd/{}", held_copy_->get()), copy_,
                  fs::copy_options::overwrite_existing, error);
    if (!error) fs::permissions(copy_, fs::perms::owner_all, error);
    return !error;
}

const std::string& KeptProgram::path() const {
    return has_copy_ && identity_of(original_) != identity_ ? copy_ : original_;
}

}  // namespace turnpike
