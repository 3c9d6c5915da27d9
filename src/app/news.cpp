#include "app/news.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "app/facts.h"
#include "app/lane_words.h"

namespace turnpike {

namespace {

template <class... Parts>
void say(fmt::format_string<Parts...> text, Parts&&... parts) {
    // fputs, since fmt::print throws when nobody reads any more; the gate goes on.
    std::fputs(
        fmt::format("turnpike: {}\n", fmt::format(text, std::forward<Parts>(parts)...)).c_str(),
        stderr);
}

bool serves(LaneState state) { return state == LaneState::ready || state == LaneState::busy; }

}  // namespace

News::News(const Config& config, const std::vector<LaneFacts>& lanes)
    : config_(config), lanes_(lanes), standings_(lanes.size()), said_(lanes.size()) {}

void News::opened(const Address& bound, bool keys_are_required) {
    keys_are_required_ = keys_are_required;
    url_ = "http://" + text_of(bound);
    say("serving on {}", url_);
    say("{} lane{} in {} pool{}; look with: turnpike status, or {}/-/status", lanes_.size(),
        lanes_.size() == 1 ? "" : "s", config_.pools.size(), config_.pools.size() == 1 ? "" : "s",
        url_);
    if (keys_are_required) say("API keys are needed: Authorization: Bearer KEY");
    for (const PoolConfig& pool : config_.pools)
        if (pool.settings.proof == ProofKind::none)
            say("pool {}: no proof is configured, so lanes serve unproved ([pool.{}.proof])",
                pool.name, pool.name);
}

void News::tell(const ReportLane& report) {
    standings_[report.lane.value].state = report.state;
    standings_[report.lane.value].reason = report.reason;
}

void News::say_lane(std::size_t lane) {
    Standing& now = standings_[lane];
    now.trouble = serves(now.state) ? "" : lanes_[lane].trouble;
    const Standing before = std::exchange(said_[lane], now);
    const bool is_new = words_for(now.state) != words_for(before.state);
    const bool is_troubled = !now.trouble.empty() && now.trouble != before.trouble;
    if ((!is_new && !is_troubled) || now.reason == Reason::shutting_down) return;
    const std::string_view why = now.trouble.empty() ? words_for(now.reason) : now.trouble;
    const std::string_view does =
        now.reason == Reason::worker_away ? "waits for its worker" : words_for(now.state);
    say("lane {} {}, {}{}{}", lane, does, lanes_[lane].worker, why.empty() ? "" : ": ", why);
}

void News::say_when_all_serve() {
    const auto all_serve = [](const Standing& standing) { return serves(standing.state); };
    if (all_served_ || !std::ranges::all_of(standings_, all_serve)) return;
    all_served_ = true;
    say("all lanes serve{}", hint());
}

/// Something to try, where it is known what would work.
std::string News::hint() const {
    const bool has_usual_pool =
        config_.pools.size() == 1 || std::ranges::any_of(config_.pools, &PoolConfig::is_default);
    if (keys_are_required_ || !has_usual_pool) return "";
    return fmt::format("; try: curl {}/predict -d '{{}}' -H 'Content-Type: application/json'",
                       url_);
}

void News::tell(const ReportModelFailing& report) {
    say("pool {}: every lane fails job after job (latest: lane {}); it seems to be the model",
        config_.pools[report.pool.value].name, report.lane.value);
}

void News::tell(const ReportNoMajority& report) {
    say("pool {}: the lanes disagree about the proof, and none has a majority; all serve",
        config_.pools[report.pool.value].name);
}

void News::tell(const ReportSlowJob& report) {
    say("a job runs far over the usual {} of its pool; look with: turnpike status",
        span_text(std::chrono::duration<double>(report.usual).count()));
}

void News::look(const std::string& log_problem, const std::string& keys_problem) {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) say_lane(lane);
    say_when_all_serve();
    if (log_problem != log_problem_ && !log_problem.empty()) say("job log: {}", log_problem);
    if (keys_problem != keys_problem_ && !keys_problem.empty()) say("API keys: {}", keys_problem);
    log_problem_ = log_problem;
    keys_problem_ = keys_problem;
}

void News::stopping(bool is_first, Duration patience, const View& view) {
    if (!is_first) return say("stopping at once");
    if (view.jobs == 0) return say("stopping");
    say("stopping: {} job{} may finish within {}; once more to stop at once", view.jobs,
        view.jobs == 1 ? "" : "s", text_of(patience));
}

void News::stopped() { say("stopped"); }

}  // namespace turnpike
