#include "app/news.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <fmt/chrono.h>
#include <fmt/format.h>

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

std::string seconds_text(Duration duration) {
    return fmt::format("{:g} s", std::chrono::duration<double>(duration).count());
}

}  // namespace

News::News(const Config& config, const std::vector<LaneFacts>& lanes)
    : config_(config),
      lanes_(lanes),
      states_(lanes.size(), LaneState::starting),
      said_(lanes.size()) {}

void News::opened(const Address& bound, bool keys_are_required) {
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
    const LaneFacts& facts = lanes_[report.lane.value];
    LaneState& state = states_[report.lane.value];
    const bool is_new = words_for(state) != words_for(report.state);
    state = report.state;
    // Why a worker is away is known only when it was asked: look() says it.
    if (!is_new || report.reason == Reason::shutting_down || report.reason == Reason::worker_away)
        return;
    std::string why;
    if (!serves(state)) {
        said_[report.lane.value] = facts.trouble;
        why = facts.trouble.empty() ? words_for(report.reason) : facts.trouble;
    }
    say("lane {} {}, {}{}{}", report.lane.value, words_for(state), facts.worker,
        why.empty() ? "" : ": ", why);
    say_when_all_serve();
}

void News::say_when_all_serve() {
    if (all_served_ || !std::ranges::all_of(states_, serves)) return;
    all_served_ = true;
    say("all lanes serve; try: curl {}/predict -d '{{}}' -H 'Content-Type: application/json'",
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
    say("a job runs far over the usual {} of its pool; look with: turnpike jobs",
        seconds_text(report.usual));
}

void News::look(const std::string& log_problem, const std::string& keys_problem) {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        const bool waits =
            states_[lane] == LaneState::starting || states_[lane] == LaneState::loading;
        if (!waits || lanes_[lane].trouble == said_[lane]) continue;
        said_[lane] = lanes_[lane].trouble;
        if (!said_[lane].empty())
            say("lane {} waits for its worker, {}: {}", lane, lanes_[lane].worker, said_[lane]);
    }
    if (log_problem != log_problem_ && !log_problem.empty()) say("job log: {}", log_problem);
    if (keys_problem != keys_problem_ && !keys_problem.empty()) say("API keys: {}", keys_problem);
    log_problem_ = log_problem;
    keys_problem_ = keys_problem;
}

void News::stopping(bool is_first, Duration patience, const View& view) {
    if (!is_first) return say("stopping at once");
    if (view.jobs == 0) return say("stopping");
    say("stopping: {} job{} may finish within {}; once more to stop at once", view.jobs,
        view.jobs == 1 ? "" : "s", seconds_text(patience));
}

void News::stopped() { say("stopped"); }

}  // namespace turnpike
