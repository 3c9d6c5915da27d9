#include "os/runtime_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
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
#include "os/gate_name.h"

namespace turnpike {
namespace {

constexpr const char* lock_file = "lock";
constexpr const char* socket_file = "socket";
constexpr int patient_tries = 5;  // list_running() takes a free lock for a moment

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

bool try_lock(int lock, int tries) {
    while (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
        if (--tries <= 0) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
}

std::string running_already(std::string_view name, pid_t pid) {
    return "a gate named " + std::string(name) + " is running already (pid " + std::to_string(pid) +
           "): stop it with: turnpike down --name " + std::string(name) +
           "; or choose another --name";
}

/// True if the open file is still the one that others find by this name.
bool is_named(int open_file, int folder, const char* name) {
    struct stat held{};
    struct stat named{};
    return ::fstat(open_file, &held) == 0 &&
           ::fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

Fd take_lock(int folder, const std::string& path, std::string_view name, int tries) {
    const std::string lock_path = path + '/' + lock_file;
    UniqueFd lock(
        ::openat(folder, lock_file, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    if (!lock) return Problem(lock_path + " can't be opened: " + reason() + "; remove it");
    struct stat found{};
    if (::fstat(lock.get(), &found) != 0 || !S_ISREG(found.st_mode))
        return Problem(lock_path + " is not a regular file: remove it");
    if (!try_lock(lock.get(), tries)) return Problem(running_already(name, pid_in(lock.get())));
    if (!is_named(lock.get(), folder, lock_file))
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
    const std::string path = place.root + '/' + std::string(name);
    const std::string socket_path = path + '/' + socket_file;
    if (socket_path.size() > socket_path_max)
        return Problem(
            socket_path + " is " + std::to_string(socket_path.size()) +
            " bytes long, but the path of a socket may have at most 107: choose a shorter --name, "
            "or set XDG_RUNTIME_DIR to a folder with a shorter path");
    // This comes before the folder, which may be gone although the gate that made it runs.
    const std::string socket = abstract_name(place.root, name);
    UniqueFd named = take_abstract_name(socket);
    if (!named)
        for (const NamedGate& gate : named_gates(place.root))
            if (gate.name == name) return Problem(running_already(name, gate.pid));
    auto held = hold(place, name, patient_tries);
    if (!held) return Problem(std::move(held.error()));
    ::unlinkat(held->folder.get(), socket_file, 0);  // a killed gate may have left it
    return RuntimeFolder(place, name, *std::move(held), std::move(named));
}

std::expected<RuntimeFolder::Held, std::string> RuntimeFolder::hold(const RuntimePlace& place,
                                                                    std::string_view name,
                                                                    int tries) {
    const std::string path = place.root + '/' + std::string(name);
    const Fd root = make_folder(AT_FDCWD, place.root, place.root);
    if (!root) return Problem(root.error());
    Fd folder = make_folder(root->get(), std::string(name), path);
    if (!folder) return Problem(std::move(folder.error()));
    Fd lock = take_lock(folder->get(), path, name, tries);
    if (!lock) return Problem(std::move(lock.error()));
    return Held{.folder = std::move(*folder), .lock = std::move(*lock)};
}

RuntimeFolder::RuntimeFolder(RuntimePlace place, std::string_view name, Held held, UniqueFd named)
    : place_(std::move(place)),
      name_(name),
      path_(place_.root + '/' + name_),
      folder_(std::move(held.folder)),
      lock_(std::move(held.lock)),
      named_(std::move(named)),
      owner_(::getpid()) {}

RuntimeFolder::~RuntimeFolder() {
    if (!lock_ || owner_ != ::getpid()) return;
    if (is_named(lock_.get(), folder_.get(), lock_file))  // else it may belong to another gate now
        ::unlinkat(folder_.get(), socket_file, 0);
    std::ignore = ::ftruncate(lock_.get(), 0);
    ::flock(lock_.get(), LOCK_UN);                    // also for copies that children inherited
    if (named_) ::shutdown(named_.get(), SHUT_RDWR);  // the same: nobody can connect any more
}

bool RuntimeFolder::is_in_place() const {
    return is_named(folder_.get(), AT_FDCWD, path_.c_str()) &&
           is_named(lock_.get(), folder_.get(), lock_file);
}

std::expected<RuntimeFolder::Renewal, std::string> RuntimeFolder::renew() {
    if (!named_) named_ = take_abstract_name(abstract_name(place_.root, name_));
    struct stat found{};
    if (::fstat(folder_.get(), &found) == 0 && (found.st_mode & 0777) != 0700)
        ::fchmod(folder_.get(), 0700);
    if (is_in_place()) return Renewal::not_needed;
    const std::size_t slash = place_.root.find_last_of('/');
    ::mkdir(place_.root.substr(0, slash).c_str(), 0700);  // $XDG_RUNTIME_DIR, if we may
    auto held = hold(place_, name_, 1);
    if (!held) return Problem(std::move(held.error()));
    folder_ = std::move(held->folder);
    lock_ = std::move(held->lock);
    return Renewal::made_anew;
}

UniqueFd RuntimeFolder::named_socket() const {
    return named_ ? UniqueFd(::fcntl(named_.get(), F_DUPFD_CLOEXEC, 0)) : UniqueFd();
}

void RuntimeFolder::touch() const {
    ::futimens(lock_.get(), nullptr);
    ::futimens(folder_.get(), nullptr);
}

std::string RuntimeFolder::path_of(std::string_view file) const {
    return path_ + '/' + std::string(file);
}

namespace {

/// Returns the gates whose folders are locked.
std::vector<RunningGate> gates_in(const RuntimePlace& place) {
    const Fd root = open_folder(AT_FDCWD, place.root, place.root);
    if (!root) return {};
    std::vector<RunningGate> running;
    UniqueFd listed(::openat(root->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (const std::string& name : names_in(std::move(listed))) {
        const std::string path = place.root + '/' + name;
        const Fd folder = open_folder(root->get(), name, path);
        if (!folder) continue;
        if (const auto pid = holder_of(folder->get()))
            running.push_back(
                {.name = name, .pid = *pid, .folder = path, .socket = path + '/' + socket_file});
    }
    return running;
}

}  // namespace

std::vector<RunningGate> list_running(const RuntimePlace& place) {
    std::vector<RunningGate> running = gates_in(place);
    for (NamedGate& gate : named_gates(place.root)) {
        const auto known = std::ranges::find(running, gate.name, &RunningGate::name);
        // The abstract name works even if somebody removed the socket from the folder.
        if (known == running.end())
            running.push_back({.name = gate.name,
                               .pid = gate.pid,
                               .folder = place.root + '/' + gate.name,
                               .socket = std::move(gate.socket)});
        else if (known->pid == gate.pid)
            known->socket = std::move(gate.socket);
    }
    std::ranges::sort(running, {}, &RunningGate::name);
    return running;
}

}  // namespace turnpike
