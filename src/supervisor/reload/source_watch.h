// Which files a pool's model is made of, and whether a save of one is news to it. The files are those that
// the workers of its generations imported (generations.h), the model's own, and, after a failure, those that
// the error names and new ones beside the model.
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
    /// These have other bytes than what runs, or is tried.
    std::function<void(std::vector<std::string>)> changed;
};

class SourceWatch {
public:
    explicit SourceWatch(SourceWatchDeps deps);

    /// What there is to watch for.
    struct Followed {
        std::string good;                        // the folder of the generation that serves
        std::string newest;                      // of the one that is tried; empty: none is
        std::vector<std::string> suspects = {};  // after a failure: whatever else may mend it
        bool is_bad = false;                     // the latest failed: any save is worth a try
    };
    void follow(Followed followed);
    /// Workers may have imported more.
    void look();

    /// How many files are watched, the first time that the model's imports are known; else 0.
    [[nodiscard]] std::size_t news();
    [[nodiscard]] const std::string& problem() const { return watch_.problem(); }

private:
    using Kept = std::map<std::string, std::string>;  // path → bytes
    struct Sources {
        Kept good;
        Kept newest;
        std::vector<std::string> outdated = {};  // of the newer ones: saved since they were read
    };

    void read();
    void want(const Sources& sources);
    enum class NewFiles : std::uint8_t { count, do_not_count };  // beside the model
    /// What is in files_.
    void watch(NewFiles new_files);
    void saved(const std::vector<std::string>& files);

    SourceWatchDeps deps_;
    FileWatch watch_;
    Followed followed_;
    std::set<std::string> files_;  // that are watched
    std::string stamp_;            // of the folders, when they were read
    bool is_reading_ = false;
    bool are_imports_known_ = false;
    bool is_told_ = false;
    std::shared_ptr<int> lives_ = std::make_shared<int>();
};

}  // namespace turnpike
