// Collects workers that died, so that `up` reports deaths of the same cause in one line.
//
//   notices.add({.lane = 0, .why = "exit code 1: no torch", .report = "id"});
//   notices.add({.lane = 1, .why = "exit code 1: no torch", .report = "id"});
//   notices.take();   // "lanes 0-1: their workers died: exit code 1: no torch"
//
// If the same deaths happen again, take() returns no line, unless the lanes served in between.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike {

class DeathNotices {
public:
    struct Death {
        std::size_t lane = 0;
        std::string why;                // empty if not known
        std::string report;             // the id of the crash report; empty if none was kept
        bool has_served_since = false;  // set by served()
    };
    struct Notice {
        std::string text;
        std::string report;  // the id of the first crash report
    };

    explicit DeathNotices(std::size_t lanes) : latest_(lanes) {}

    void add(Death death);
    /// Must be called when a lane serves. Its next death is then reported, even if the cause is the
    /// same.
    void served(std::size_t lane);
    /// Returns a line for each cause of the deaths since the last call. Leaves out lanes that
    /// started and died of the same cause again.
    [[nodiscard]] std::vector<Notice> take();
    /// Returns the cause of death if it was the same for all lanes and none has served since.
    /// Empty otherwise.
    [[nodiscard]] std::string cause_of_all() const;

private:
    [[nodiscard]] std::string cause_text(const Death& death) const;

    std::vector<Death> waiting_;
    std::vector<std::string> latest_;  // by lane: the cause that was reported; empty once it serves
};

}  // namespace turnpike
