// Watches the files that a pool's model is made of, and reports saves that change what runs. These
// files are those that the workers of its generations imported (generations.h), the model's own
// file and, after a failure, the files that the error names and new files beside the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "config/config.h"
#include "os/background.h"
#include "os/file_watch.h"
#include "supervisor/reload/generations.h"

namespace turnpike {

struct SourceWatchDeps {
    boost::asio::io_context& loop;
    Background& disk;
    const ModelChoice& model;
    /// Called with the saved files whose content differs from what runs or is being tried.
    std::function<void(std::vector<std::string>)> changed;
};

class SourceWatch {
public:
    explicit SourceWatch(SourceWatchDeps deps);

    /// Which generations to watch the files of.
    struct Followed {
        std::string good;                        // the folder of the generation that serves
        std::string newest;                      // the folder of the one being tried; empty if none
        std::vector<std::string> suspects = {};  // after a failure: other files that may fix it
        bool is_bad = false;  // the latest generation failed, so any save is worth a try
    };
    void follow(Followed followed);
    /// Must be called now and then, because workers may have imported more files.
    void look();

    /// Returns the number of watched files, but only once, when the model's imports are known.
    /// Returns 0 before and after that.
    [[nodiscard]] std::size_t news();
    [[nodiscard]] const std::string& problem() const { return watch_.problem(); }

private:
    using Kept = std::map<std::string, std::string>;  // path → bytes
    struct Sources {
        Kept good;
        Kept newest;
        std::vector<std::string> outdated = {};  // paths that were saved after a worker read them
    };

    void read();
    void want(const Sources& sources);
    enum class NewFiles : std::uint8_t { count, do_not_count };
    /// Watches files_ and, if asked, new files beside the model.
    void watch(NewFiles new_files);
    void saved(const std::vector<std::string>& files);

    SourceWatchDeps deps_;
    FileWatch watch_;
    Followed followed_;
    std::set<std::string> files_;  // the watched files
    std::string stamp_;            // of the generations' folders when they were last read
    bool is_reading_ = false;
    bool are_imports_known_ = false;
    bool is_told_ = false;
    std::shared_ptr<int> lives_ = std::make_shared<int>();
};

}  // namespace turnpike
