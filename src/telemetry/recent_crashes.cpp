#include "telemetry/recent_crashes.h"

#include <algorithm>
#include <utility>

namespace turnpike {

void RecentCrashes::load(const std::string& folder) {
    for (CrashSummary& summary : list_crash_reports(folder)) {
        if (crashes_.size() >= keep_) return;
        auto page = read_crash_report(folder, summary.id);
        if (page) crashes_.push_back({std::move(summary.id), std::move(summary.json), *page});
    }
}

void RecentCrashes::add(Crash crash) {
    crashes_.push_front(std::move(crash));
    if (crashes_.size() > keep_) crashes_.pop_back();
}

const RecentCrashes::Crash* RecentCrashes::find(std::string_view id) const {
    const auto found = std::ranges::find(crashes_, id, &Crash::id);
    return found == crashes_.end() ? nullptr : &*found;
}

RecentCrashes::Stored RecentCrashes::store(const std::string& folder, const CrashReport& report,
                                           std::uint32_t keep) {
    std::string problem;
    if (!folder.empty() && keep > 0) {
        auto id = write_crash_report(folder, report, keep);
        if (id) {
            auto page = read_crash_report(folder, *id);
            if (page) return {.crash = {*id, crash_json(*id, report), *page}, .problem = {}};
            problem = "can't read back the crash report " + *id;
        } else {
            problem = std::move(id.error());
        }
    }
    std::string id = crash_id(report);
    std::string json = crash_json(id, report);
    std::string page = crash_page(json, report.log, {});
    return {.crash = {std::move(id), std::move(json), std::move(page)}, .problem = problem};
}

}  // namespace turnpike
