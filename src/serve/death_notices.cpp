#include "serve/death_notices.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "terminal/safe_text.h"

namespace turnpike {
namespace {

struct Group {
    std::string how;
    std::string report;
    std::vector<std::size_t> lanes;
};

std::string text_of(Group& group) {
    std::ranges::sort(group.lanes);
    const auto twice = std::ranges::unique(group.lanes);
    group.lanes.erase(twice.begin(), twice.end());
    return fmt::format("{} {}: {} died{}", group.lanes.size() == 1 ? "lane" : "lanes",
                       ranges_text(group.lanes),
                       group.lanes.size() == 1 ? "its worker" : "their workers", group.how);
}

}  // namespace

void DeathNotices::add(Death death) { waiting_.push_back(std::move(death)); }

void DeathNotices::served(std::size_t lane) {
    latest_[lane].clear();
    for (Death& death : waiting_)
        if (death.lane == lane) death.has_served_since = true;
}

std::string DeathNotices::cause_text(const Death& death) const {
    if (death.why.empty()) return "";
    const auto same = std::ranges::find(latest_, death.why);
    if (same != latest_.end()) return fmt::format(" like that of lane {}", same - latest_.begin());
    return ": " + death.why;
}

std::vector<DeathNotices::Notice> DeathNotices::take() {
    std::vector<Group> groups;
    for (const Death& death : waiting_) {
        if (!death.why.empty() && latest_[death.lane] == death.why) continue;
        std::string words = cause_text(death);
        auto group = std::ranges::find(groups, words, &Group::how);
        if (group == groups.end())
            group = groups.insert(groups.end(), {std::move(words), death.report, {}});
        group->lanes.push_back(death.lane);
    }
    for (const Death& death : std::exchange(waiting_, {}))
        if (!death.has_served_since) latest_[death.lane] = death.why;
    std::vector<Notice> told;
    for (Group& group : groups) told.push_back({text_of(group), std::move(group.report)});
    return told;
}

std::string DeathNotices::cause_of_all() const {
    const bool is_one =
        std::ranges::adjacent_find(latest_, std::ranges::not_equal_to()) == latest_.end();
    return is_one && !latest_.empty() ? latest_.front() : "";
}

}  // namespace turnpike
