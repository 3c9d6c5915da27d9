// The crash reports that the gate shows: in memory, newest first, so that no request waits for a
// disk. A report that could not be written to the disk is still here until the gate ends.
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
        std::string json;  // report.json, one line
        std::string page;  // the same with "log" and "files"
    };

    /// Keeps at most `keep` reports.
    explicit RecentCrashes(std::uint32_t keep) : keep_(keep) {}

    /// Loads the reports of former runs. Must be called before any add(). Slow.
    void load(const std::string& folder);
    void add(Crash crash);

    [[nodiscard]] const std::deque<Crash>& newest_first() const { return crashes_; }
    /// Returns nullptr if there is no report with that id.
    [[nodiscard]] const Crash* find(std::string_view id) const;

    struct Stored {
        Crash crash;
        std::string problem;  // why it is not on the disk; empty if it is
    };
    /// Writes a report to its folder, and returns what to pass to add(). If `folder` is empty,
    /// nothing is written. Slow; any thread may call it.
    [[nodiscard]] static Stored store(const std::string& folder, const CrashReport& report,
                                      std::uint32_t keep);

private:
    std::uint32_t keep_;
    std::deque<Crash> crashes_;
};

}  // namespace turnpike
