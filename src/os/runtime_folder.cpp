#include "os/runtime_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>

#include "base/leading_number.h"
#include "base/name.h"

namespace turnpike {
namespace {

constexpr const char* lock_file = "lock";
constexpr const char* socket_file = "socket";

using Fd = std::expected<UniqueFd, std::string>;
using Problem = std::unexpected<std::string>;

std::string reason() { return std::strerror(errno); }

/// Returns what makes a folder unsafe to use, or "" if it is safe.
std::string problem_with(int folder, const std::string& path) {
    struct stat found{};
    if (::fstat(folder, &found) != 0) return path + ": " + reason();
    if (found.st_uid != ::geteuid())
        return path + " belongs to user " + std::to_string(found.st_uid) +
               ": remove it, or set XDG_RUNTIME_DIR or TMPDIR to a folder of your own";
    if ((found.st_mode & 077) != 0) return path + " is open to other users: run chmod 700 " + path;
    return "";
}

/// `parent` may be AT_FDCWD; `path` is the whole path, for messages.
Fd open_folder(int parent, const std::string& entry, const std::string& path) {
    UniqueFd folder(
        ::openat(parent, entry.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder && (errno == ELOOP || errno == ENOTDIR))
        return Problem(path + " is a symbolic link or a file where a folder should be: remove it");
    if (!folder) return Problem(path + " can't be opened: " + reason());
    if (std::string problem = problem_with(folder.get(), path); !problem.empty())
        return Problem(std::move(problem));
    return folder;
}

Fd make_folder(int parent, const std::string& entry, const std::string& path) {
    if (::mkdirat(parent, entry.c_str(), 0700) != 0 && errno != EEXIST)
        return Problem(path + " can't be made: " + reason());
    return open_folder(parent, entry, path);
}

pid_t pid_in(int lock) {
    std::array<char, 32> text{};
    const ssize_t size = ::pread(lock, text.data(), text.size(), 0);
    return size > 0 ? leading_number<pid_t>({text.data(), static_cast<std::size_t>(size)}) : 0;
}

bool write_pid(int lock) {
    const std::string text = std::to_string(::getpid()) + '\n';
    return ::ftruncate(lock, 0) == 0 &&
           ::pwrite(lock, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

/// Takes the lock. Tries several times, because list_running() takes a free lock for a moment.
bool try_lock(int lock) {
    for (int tries = 0; tries < 5; ++tries) {
        if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
}

/// True if the locked file is still the one that others find in the folder.
bool is_in_place(int folder, int lock) {
    struct stat held{};
    struct stat named{};
    return ::fstat(lock, &held) == 0 &&
           ::fstatat(folder, lock_file, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

Fd take_lock(int folder, const std::string& path, std::string_view name) {
    const std::string lock_path = path + '/' + lock_file;
    UniqueFd lock(
        ::openat(folder, lock_file, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    if (!lock) return Problem(lock_path + " can't be opened: " + reason() + "; remove it");
    struct stat found{};
    if (::fstat(lock.get(), &found) != 0 || !S_ISREG(found.st_mode))
        return Problem(lock_path + " is not a regular file: remove it");
    if (!try_lock(lock.get()))
        return Problem("a gate named " + std::string(name) + " is running already (pid " +
                       std::to_string(pid_in(lock.get())) +
                       "): stop it with: turnpike down --name " + std::string(name) +
                       "; or choose another --name");
    if (!is_in_place(folder, lock.get()))
        return Problem(lock_path + " was removed in the meantime: try again");
    if (!write_pid(lock.get())) return Problem(lock_path + " can't be written: " + reason());
    return lock;
}

/// Returns the pid of the gate that holds the lock.
std::optional<pid_t> holder_of(int folder) {
    const UniqueFd lock(
        ::openat(folder, lock_file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!lock || pid_in(lock.get()) <= 0) return std::nullopt;  // no gate holds it, or not yet
    if (::flock(lock.get(), LOCK_SH | LOCK_NB) == 0) return std::nullopt;
    const pid_t pid = pid_in(lock.get());
    return pid > 0 ? std::optional(pid) : std::nullopt;
}

std::vector<std::string> names_in(UniqueFd folder) {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(folder.get()), ::closedir);
    if (!entries) return {};
    std::ignore = folder.release();  // closedir() closes it
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(entries.get()))
        if (is_name(entry->d_name)) names.emplace_back(entry->d_name);
    std::ranges::sort(names);
    return names;
}

}  // namespace

RuntimePlace runtime_root(const std::optional<std::string>& xdg_runtime_dir,
                          const std::string& temporary, uid_t uid) {
    if (xdg_runtime_dir && xdg_runtime_dir->starts_with('/'))
        return {*xdg_runtime_dir + "/turnpike"};
    const std::string folder = temporary.starts_with('/') ? temporary : "/tmp";
    return {folder + "/turnpike-" + std::to_string(uid)};
}

std::expected<RuntimeFolder, std::string> RuntimeFolder::take(const RuntimePlace& place,
                                                              std::string_view name) {
    if (!is_name(name)) return Problem("the name of a gate is " + std::string(name_rule));
    std::string path = place.root + '/' + std::string(name);
    const std::string socket_path = path + '/' + socket_file;
    if (socket_path.size() > socket_path_max)
        return Problem(
            socket_path + " is " + std::to_string(socket_path.size()) +
            " bytes long, but the path of a socket may have at most 107: choose a shorter --name, "
            "or set XDG_RUNTIME_DIR to a folder with a shorter path");
    const Fd root = make_folder(AT_FDCWD, place.root, place.root);
    if (!root) return Problem(root.error());
    Fd folder = make_folder(root->get(), std::string(name), path);
    if (!folder) return Problem(std::move(folder.error()));
    Fd lock = take_lock(folder->get(), path, name);
    if (!lock) return Problem(std::move(lock.error()));
    ::unlinkat(folder->get(), socket_file, 0);  // a killed gate may have left it
    return RuntimeFolder(std::move(path), std::move(*folder), std::move(*lock));
}

RuntimeFolder::RuntimeFolder(std::string path, UniqueFd folder, UniqueFd lock)
    : path_(std::move(path)),
      folder_(std::move(folder)),
      lock_(std::move(lock)),
      owner_(::getpid()) {}

RuntimeFolder::~RuntimeFolder() {
    if (!lock_ || owner_ != ::getpid()) return;
    if (is_in_place(folder_.get(), lock_.get()))  // otherwise it may belong to another gate now
        ::unlinkat(folder_.get(), socket_file, 0);
    std::ignore = ::ftruncate(lock_.get(), 0);
    ::flock(lock_.get(), LOCK_UN);  // also for copies that children inherited
}

void RuntimeFolder::touch() const {
    ::futimens(lock_.get(), nullptr);
    ::futimens(folder_.get(), nullptr);
}

std::string RuntimeFolder::path_of(std::string_view file) const {
    return path_ + '/' + std::string(file);
}

std::vector<RunningGate> list_running(const RuntimePlace& place) {
    const Fd root = open_folder(AT_FDCWD, place.root, place.root);
    if (!root) return {};
    std::vector<RunningGate> running;
    UniqueFd listed(::openat(root->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (const std::string& name : names_in(std::move(listed))) {
        const std::string path = place.root + '/' + name;
        const Fd folder = open_folder(root->get(), name, path);
        if (!folder) continue;
        if (const auto pid = holder_of(folder->get()))
            running.push_back({.name = name, .pid = *pid, .folder = path});
    }
    return running;
}

}  // namespace turnpike
