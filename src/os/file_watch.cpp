#include "os/file_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "os/importable.h"
#include "os/path_steps.h"

namespace turnpike {
namespace {

constexpr std::uint32_t mask = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_TO |
                               IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF |
                               IN_ONLYDIR | IN_EXCL_UNLINK;
constexpr std::uint32_t of_the_folder_itself =
    IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT;

std::string text_of_problem(const std::string& what, int error) {
    if (error == ENOSPC)
        return what +
               ": the system has no watches left; allow more, as with: sudo sysctl "
               "fs.inotify.max_user_watches=524288";
    if (error == EMFILE)
        return what +
               ": no more files can be opened (ulimit -n), or too many programs watch files; "
               "allow more, as with: sudo sysctl fs.inotify.max_user_instances=1024";
    return what + ": " + std::strerror(error);
}

/// True if the error means that the folder was removed meanwhile. That is not a problem for people:
/// we look again.
bool is_gone(int error) { return error == ENOENT || error == ENOTDIR; }

}  // namespace

FileWatch::FileWatch(boost::asio::io_context& loop, Changed changed)
    : loop_(loop), changed_(std::move(changed)), inotify_(loop), settle_(loop) {}

std::optional<FileWatch::Identity> FileWatch::identity_of(const std::string& path) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
    return Identity{.device = facts.st_dev,
                    .inode = facts.st_ino,
                    .size = facts.st_size,
                    .modified = std::chrono::seconds(facts.st_mtim.tv_sec) +
                                std::chrono::nanoseconds(facts.st_mtim.tv_nsec)};
}

std::optional<std::string> FileWatch::want(Wanted wanted) {
    wanted_ = std::move(wanted);
    if (!inotify_.is_open()) {
        const int fd = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (fd < 0) return problem_ = text_of_problem("files can't be watched", errno);
        inotify_.assign(fd);
        wait();
    }
    arm();
    // Read only after the watches are set, so that no later change is missed.
    std::map<std::string, Identity> known;
    for (const std::string& file : wanted_.files) {
        const auto before = known_.find(file);
        const auto now = before == known_.end() ? identity_of(file) : before->second;
        if (now) known.emplace(file, *now);
    }
    known_ = std::move(known);
    std::map<std::string, std::set<std::string>> importable;
    for (const std::string& folder : wanted_.folders) {
        const auto before = known_importable_.find(folder);
        importable[folder] =
            before == known_importable_.end() ? importable_in(folder).files : before->second;
    }
    known_importable_ = std::move(importable);
    return problem_.empty() ? std::nullopt : std::optional(problem_);
}

/// Watches every folder that now decides where the paths lead, and no other. It is fine to ask the
/// kernel again for a folder that it watches already.
void FileWatch::arm() {
    problem_.clear();
    Folders folders;
    for (const std::string& file : wanted_.files)
        for (const PathStep& step : steps_to(file))
            if (Folder* folder = watch_folder(step.folder, folders))
                folder->names.insert(step.name);
    for (const std::string& path : wanted_.folders) {
        if (std::error_code error; !std::filesystem::is_directory(path, error)) continue;
        if (Folder* folder = watch_folder(path, folders)) folder->takes_new_files = true;
        for (const std::string& package : importable_in(path).packages)
            if (Folder* folder = watch_folder(package, folders))
                folder->names.insert("__init__.py");
    }
    for (const auto& [watch, folder] : folders_)
        if (!folders.contains(watch)) ::inotify_rm_watch(inotify_.native_handle(), watch);
    folders_ = std::move(folders);
}

FileWatch::Folder* FileWatch::watch_folder(const std::string& path, Folders& folders) {
    const int watch = ::inotify_add_watch(inotify_.native_handle(), path.c_str(), mask);
    if (watch >= 0) return &folders[watch];
    if (is_gone(errno))
        touched();
    else if (problem_.empty())
        problem_ = text_of_problem(path + " can't be watched", errno);
    return nullptr;
}

void FileWatch::wait() {
    inotify_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                        [this, alive = std::weak_ptr(alive_)](boost::system::error_code error) {
                            if (error || alive.expired()) return;
                            read_events();
                            wait();
                        });
}

void FileWatch::read_events() {
    constexpr std::size_t room = 64 * 1024;
    alignas(inotify_event) std::array<char, room> buffer;
    for (;;) {
        const ssize_t size = ::read(inotify_.native_handle(), buffer.data(), buffer.size());
        if (size <= 0) return;
        for (const char *at = buffer.data(), *end = at + size; at < end;) {
            // The kernel writes whole, aligned events.
            const auto& event = *reinterpret_cast<const inotify_event*>(at);
            if (is_of_interest(event)) touched();
            at += sizeof(inotify_event) + event.len;
        }
    }
}

bool FileWatch::is_of_interest(const inotify_event& event) {
    if ((event.mask & IN_Q_OVERFLOW) != 0) return true;  // the kernel dropped events
    const auto found = folders_.find(event.wd);
    if (found == folders_.end()) return false;
    const Folder& folder = found->second;
    if ((event.mask & of_the_folder_itself) != 0) {
        if ((event.mask & IN_IGNORED) != 0) folders_.erase(found);
        return true;
    }
    const std::string_view name(event.len > 0 ? static_cast<const char*>(event.name) : "");
    return folder.names.contains(name) || (folder.takes_new_files && may_be_importable(name));
}

void FileWatch::touched() {
    const auto now = std::chrono::steady_clock::now();
    if (!std::exchange(is_settling_, true)) first_touch_ = now;
    settle_.expires_at(std::min(now + settle_quiet, first_touch_ + settle_max));
    settle_.async_wait([this, alive = std::weak_ptr(alive_)](boost::system::error_code error) {
        if (error || alive.expired() || !is_settling_) return;
        is_settling_ = false;
        look();
    });
}

void FileWatch::look() {
    arm();
    std::set<std::string> changed;
    for (const std::string& file : wanted_.files) {
        const auto now = identity_of(file);
        if (!now) continue;
        const auto [known, is_new] = known_.try_emplace(file, *now);
        if (is_new || known->second != *now) changed.insert(file);
        known->second = *now;
    }
    look_for_new(changed);
    if (!changed.empty()) changed_({changed.begin(), changed.end()});
}

void FileWatch::look_for_new(std::set<std::string>& changed) {
    for (auto& [folder, before] : known_importable_) {
        std::set<std::string> now = importable_in(folder).files;
        std::ranges::set_difference(now, before, std::inserter(changed, changed.end()));
        before = std::move(now);
    }
}

}  // namespace turnpike
