// Watches files by their paths, however they are saved: written in place, renamed over, removed and made
// anew, or reached by another link. inotify on the folders that decide where the paths lead, never on the
// files: a save by rename would leave it watching the old one.
//
//   FileWatch watch(loop, [](std::vector<std::string> changed) { … });
//   if (auto problem = watch.want({.files = {"/home/me/model.py"}})) …
//
// What somebody does in one go is told at once: when it has been quiet for `settle_quiet`, or after
// `settle_max`. Told is what is another file now (size, time of its last change, inode): a `touch` counts,
// a `chmod` doesn't, and a file that is missing counts when it is back. Not seen: a folder further up that
// is renamed, and on network disks what others save.
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
        std::vector<std::string> files = {};    // absolute
        std::vector<std::string> folders = {};  // whose new Python files count, too
    };
    /// Gets the paths as they were wanted, sorted. Called from the loop.
    using Changed = std::function<void(std::vector<std::string>)>;

    FileWatch(boost::asio::io_context& loop, Changed changed);
    FileWatch(const FileWatch&) = delete;
    FileWatch& operator=(const FileWatch&) = delete;

    /// Instead of what was wanted before; of a file that was wanted before no change is lost. Something:
    /// what can't be watched, and what to do about it.
    std::optional<std::string> want(Wanted wanted);
    /// The same of the latest look: folders come and go.
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    struct Identity {
        dev_t device = 0;
        ino_t inode = 0;
        off_t size = 0;
        Duration modified{};
        friend bool operator==(const Identity&, const Identity&) = default;
    };
    /// What is of interest in a watched folder.
    struct Folder {
        std::set<std::string, std::less<>> names;
        bool takes_new_files = false;
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
    std::map<std::string, Identity> known_;  // the latest that was seen of each file
    std::map<std::string, std::set<std::string>>
        known_importable_;  // by folder: what it offers already
    Folders folders_;
    std::string problem_;
    std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace turnpike
