// Watches files by their paths, however they are saved: written in place, replaced by a rename,
// removed and created again, or reached through a changed link. It uses inotify on the folders that
// decide where the paths lead, never on the files: after a save by rename, a watch on the file
// would still be on the old file.
//
//   FileWatch watch(loop, [](std::vector<std::string> changed) { … });
//   if (auto problem = watch.want({.files = {"/home/me/model.py"}})) …
//
// Changes that come together are reported in one call: after `settle_quiet` without a change, or
// after `settle_max` at the latest. A file has changed if its size, modification time or inode
// differs: a `touch` counts, a `chmod` doesn't, and a missing file counts when it is back. It
// does not notice that a folder further up is renamed, or that another machine saves a file on a
// network disk.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/time.h"

struct inotify_event;

namespace turnpike {

class FileWatch {
public:
    static constexpr Duration settle_quiet = 50ms;
    static constexpr Duration settle_max = 500ms;

    struct Wanted {
        std::vector<std::string> files = {};    // absolute paths
        std::vector<std::string> folders = {};  // new Python files in them are reported, too
    };
    /// Called from the loop with the changed paths, which are sorted and spelled as in `Wanted`.
    using Changed = std::function<void(std::vector<std::string>)>;

    FileWatch(boost::asio::io_context& loop, Changed changed);
    FileWatch(const FileWatch&) = delete;
    FileWatch& operator=(const FileWatch&) = delete;

    /// Watches these files and folders instead of those before. No change is lost for a file that
    /// was watched before, too. Returns a sentence that says what can't be watched and what to do
    /// about it, or nullopt if everything is watched.
    std::optional<std::string> want(Wanted wanted);
    /// Returns that sentence as it is now, because folders come and go. Empty if everything is
    /// watched.
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    struct Identity {
        dev_t device = 0;
        ino_t inode = 0;
        off_t size = 0;
        Duration modified{};
        friend bool operator==(const Identity&, const Identity&) = default;
    };
    /// The names that matter in a watched folder.
    struct Folder {
        std::set<std::string, std::less<>> names;
        bool takes_new_files = false;  // new Python files matter, too
    };
    using Folders = std::map<int, Folder>;  // by watch descriptor

    static std::optional<Identity> identity_of(const std::string& path);

    void arm();
    Folder* watch_folder(const std::string& path, Folders& folders);
    void wait();
    void read_events();
    [[nodiscard]] bool is_of_interest(const inotify_event& event);
    void touched();
    void look();
    void look_for_new(std::set<std::string>& changed);

    boost::asio::io_context& loop_;
    Changed changed_;
    boost::asio::posix::stream_descriptor inotify_;
    boost::asio::steady_timer settle_;
    bool is_settling_ = false;
    std::chrono::steady_clock::time_point first_touch_;
    Wanted wanted_;
    std::map<std::string, Identity> known_;                          // each file as last seen
    std::map<std::string, std::set<std::string>> known_importable_;  // by folder
    Folders folders_;
    std::string problem_;
    std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace turnpike
