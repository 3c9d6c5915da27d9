// Workers that died, as `up` tells of them: what is alike is one line.
//
//   deaths.add({.lane = 0, .why = "exit code 1: no torch", .report = "id"});   // and of lane 1 …
//   deaths.take();   // "lanes 0-1: their workers died: exit code 1: no torch"
//   …                // the next time: nothing, unless they served in between
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike {

class Deaths {
public:
    struct Death {
        std::size_t lane = 0;
        std::string why;     // empty: nobody knows
        std::string report;  // the id of what is kept of it; empty: nothing is
        bool is_over = false;
    };
    struct Notice {
        std::string text;
        std::string report;  // of the first
    };

    explicit Deaths(std::size_t lanes) : latest_(lanes) {}

    void add(Death death);
    /// The lane serves (again): its next death is a new one.
    void served(std::size_t lane);
    /// What came since the last time. A lane that comes up only to die as before says it once.
    [[nodiscard]] std::vector<Notice> take();
    /// What all lanes died of, none having served since; empty: they differ, or live.
    [[nodiscard]] std::string cause_of_all() const;

private:
    [[nodiscard]] std::string how(const Death& death) const;

    std::vector<Death> waiting_;
    std::vector<std::string> latest_;  // what the lane died of, as it was told; empty: it served
};

}  // namespace turnpike
