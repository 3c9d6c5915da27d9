// The crash reports as the gate shows them: in memory, newest first, so that nobody waits for a
// disk. What does not get onto the disk is here all the same, until the gate ends.
//
//   background.run([=] { return RecentCrashes::store(folder, report, keep); },   // slow
//                  [&](RecentCrashes::Stored stored) { crashes.add(std::move(stored.crash)); });
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "telemetry/crash_report.h"

namespace turnpike {

class RecentCrashes {
public:
    struct Crash {
        std::string id;
        std::string json;  // report.json, a line
        std::string page;  // the same with "log" and "files"
    };

    /// `keep`: how many at most.
    explicit RecentCrashes(std::uint32_t keep) : keep_(keep) {}

    /// Loads the reports of former runs. Must be called before any add(). Slow.
    void load(const std::string& folder);
    void add(Crash crash);

    [[nodiscard]] const std::deque<Crash>& newest_first() const { return crashes_; }
    /// nullptr: there is none of that id.
    [[nodiscard]] const Crash* find(std::string_view id) const;

    struct Stored {
        Crash crash;
        std::string problem;  // why it is not on the disk; empty: it is
    };
    /// Writes a report to its folder. Slow, and for any thread. No folder: it is only to be shown.
    [[nodiscard]] static Stored store(const std::string& folder, const CrashReport& report,
                                      std::uint32_t keep);

private:
    std::uint32_t keep_;
    std::deque<Crash> crashes_;
};

}  // namespace turnpike
