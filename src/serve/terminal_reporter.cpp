#include "serve/terminal_reporter.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/span_text.h"
#include "telemetry/lane_words.h"
#include "terminal/safe_text.h"

namespace turnpike {

namespace {

constexpr Duration import_usual_max = 15s;
constexpr Duration progress_every = 10s;       // if there is no block
constexpr std::size_t request_shown_max = 85;  // so that the line has at most 100 columns
constexpr std::size_t path_shown_max = 40;
constexpr std::size_t trouble_shown_max = 300;  // a worker may have printed much

/// Returns the URL of an attached worker, after a comma. Empty for other lanes.
std::string url_suffix(const LaneFacts& lane) {
    return lane.worker.empty() ? "" : ", " + lane.worker;
}

/// True if the lane has this state because a worker that we started died. say_deaths() reports the
/// death, together with the crash report.
bool is_caused_by_death(const LaneFacts& facts, LaneState state, Reason reason) {
    const bool goes_on = reason == Reason::memory_held || reason == Reason::link_doubted ||
                         reason == Reason::failing_jobs || reason == Reason::shortage;
    return facts.worker.empty() && state == LaneState::backoff && !goes_on;
}

std::string shown(std::string_view trouble) {
    return shortened(sanitized(trouble), trouble_shown_max);
}

/// Returns the proof's request as a curl command. Empty if it is too long for a line, or can't be
/// quoted simply.
std::string request_text(const ProofConfig& proof, const std::string& url) {
    const bool is_odd = sanitized(proof.body) != proof.body || proof.body.contains('\'') ||
                        proof.path.contains('\'') || sanitized(proof.path) != proof.path;
    const bool is_bare = proof.body.empty();
    if (is_odd || (is_bare ? proof.method != "GET" : proof.method != "POST")) return "";
    std::string text = is_bare ? fmt::format("curl '{}{}'", url, proof.path)
                               : fmt::format("curl '{}{}' -d '{}' -H Content-Type:{}", url,
                                             proof.path, proof.body, sanitized(proof.content_type));
    return text.size() <= request_shown_max && !proof.content_type.contains(' ') ? text : "";
}

/// True if the state deserves a line of its own while the block shows the other lanes.
bool is_trouble(LaneState state, Reason reason) {
    const bool is_usual = reason == Reason::worker_away || reason == Reason::turn_to_load ||
                          reason == Reason::memory_held || reason == Reason::shutting_down;
    if (is_usual) return false;
    return state == LaneState::backoff || state == LaneState::failed ||
           state == LaneState::quarantined;
}

}  // namespace

TerminalReporter::TerminalReporter(const Config& config, const std::vector<LaneFacts>& lanes,
                                   Clock& clock, std::string_view gate)
    : config_(config),
      lanes_(lanes),
      clock_(clock),
      name_flag_(gate == "default" ? "" : " --name " + std::string(gate)),
      opened_at_(clock.now()),
      terminal_(Terminal::open()),
      has_terminal_(terminal_.has_value()),
      statuses_(lanes.size()),
      reported_(lanes.size()),
      starts_(lanes.size()),
      death_notices_(lanes.size()) {}

void TerminalReporter::say(const std::string& text) const {
    // fputs does not throw if stderr was closed, unlike fmt::print. The gate goes on.
    std::fputs(fmt::format("{}turnpike: {}\n", terminal_ ? Terminal::wipe : "", text).c_str(),
               stderr);
}

std::string TerminalReporter::command(std::string_view words) const {
    return fmt::format("turnpike {}{}", words, name_flag_);
}

/// Returns what to do about a lane that will not come back soon by itself. Empty if all lanes died
/// of one cause, since say_when_none_serves() then gives the advice for all.
std::string TerminalReporter::what_next(LaneState state, std::size_t lane) const {
    if (state != LaneState::failed && state != LaneState::quarantined) return "";
    if (lanes_.size() > 1 && !death_notices_.cause_of_all().empty()) return "";
    return fmt::format("; see: {}; then: {}", command(fmt::format("logs {}", lane)),
                       command(fmt::format("restart {}", lane)));
}

void TerminalReporter::opened(const Address& bound, bool keys_are_required) {
    keys_are_required_ = keys_are_required;
    url_ = "http://" + text_of(bound);
    say("serving on " + url_);
    say(fmt::format("{} lane{} in {} pool{}; see: {}", lanes_.size(), lanes_.size() == 1 ? "" : "s",
                    config_.pools.size(), config_.pools.size() == 1 ? "" : "s", command("status")));
    if (keys_are_required) say("clients need an API key, in the header Authorization: Bearer KEY");
    for (const PoolConfig& pool : config_.pools)
        if (pool.settings.proof == ProofKind::none && !pool.is_native())
            say(
                fmt::format("pool {}: no proof is configured, so lanes serve unproved; to add one: "
                            "[pool.{}.proof]",
                            pool.name, pool.name));
}

void TerminalReporter::tell(const ReportLane& report) {
    LaneStatus& now = statuses_[report.lane.value];
    if (is_serving(report.state) && !is_serving(now.state)) {
        starts_[report.lane.value].served_at = clock_.now();
        death_notices_.served(report.lane.value);
    }
    now.state = report.state;
    now.reason = report.reason;
    now.tries_again_at = clock_.now() + report.next_try;
}

/// Returns when the lane's latest start began. For an attached worker this is not known, so its
/// start counts from when the gate opened.
Instant TerminalReporter::start_of(std::size_t lane) const {
    return lanes_[lane].now.started_at == never ? opened_at_ : lanes_[lane].now.started_at;
}

LaneSnapshot TerminalReporter::snapshot_of(std::size_t lane) const {
    const LaneStatus& now = statuses_[lane];
    const Instant until = is_serving(now.state) ? starts_[lane].served_at : clock_.now();
    return {.lane = lane,
            .facts = lanes_[lane],
            .state = now.state,
            .reason = now.reason,
            .next_try = std::max(now.tries_again_at - clock_.now(), Duration::zero()),
            .time = std::max(until - start_of(lane), Duration::zero())};
}

void TerminalReporter::say_lane(std::size_t lane) {
    LaneStatus& now = statuses_[lane];
    if (terminal_ && !is_trouble(now.state, now.reason)) return;
    if (is_caused_by_death(lanes_[lane], now.state, now.reason)) return;
    if (is_reloading(lane)) return say_progress(lane);
    now.trouble = is_serving(now.state) ? "" : text_of(lanes_[lane].now.trouble);
    const LaneStatus before = std::exchange(reported_[lane], now);
    // Going from loading to the first proof is not reported: the lane is still starting.
    const bool is_new = words_for(now.state) != words_for(before.state) &&
                        !(is_coming_up(now.state) && is_coming_up(before.state));
    const bool is_next_try =
        now.state == LaneState::failed && before.state == LaneState::failed &&
        (now.reason != before.reason || now.tries_again_at != before.tries_again_at);
    // Each death that made a lane of ours fail has been reported already.
    const bool is_told = lanes_[lane].worker.empty() && now.state == LaneState::failed;
    const bool is_troubled = !is_told && !now.trouble.empty() && now.trouble != before.trouble;
    // The lane was restarted between two calls of report_changes().
    const bool is_restarted = is_serving(before.state) && start_of(lane) != starts_[lane].reported;
    if (now.reason == Reason::shutting_down) return;
    if (!is_new && !is_next_try && !is_troubled && !is_restarted) return say_progress(lane);
    if (is_serving(now.state)) return say_serving(lane);
    const std::string_view why = is_troubled ? now.trouble : words_for(now.reason);
    const std::string_view does =
        now.reason == Reason::worker_away ? "waits for its worker" : words_for(now.state);
    const std::string next = next_try_words(snapshot_of(lane).next_try);
    say(fmt::format("lane {} {}{}{}{}{}{}{}", lane, does, url_suffix(lanes_[lane]),
                    why.empty() ? "" : ": ", shown(why), next.empty() ? "" : ", ", next,
                    what_next(now.state, lane)));
}

/// Says how long the start took once per start: a lane that was only doubted did not start again.
void TerminalReporter::say_serving(std::size_t lane) {
    const bool is_told = std::exchange(starts_[lane].reported, start_of(lane)) == start_of(lane);
    say(is_told ? fmt::format("lane {} serves{}", lane, url_suffix(lanes_[lane]))
                : serving_text(snapshot_of(lane)));
}

void TerminalReporter::say_progress(std::size_t lane) {
    if (!is_coming_up(statuses_[lane].state)) return;
    Instant& told = starts_[lane].progress_reported_at;
    const Instant latest = std::max(told, start_of(lane));
    if (clock_.now() - latest < progress_every) return;
    told = clock_.now();
    say(loading_text(snapshot_of(lane)));
}

/// Once every lane is up or will not come up soon, removes the block, prints a line for each lane
/// that has had none, and says what to do now.
void TerminalReporter::settle() {
    const auto is_done = [](const LaneStatus& lane) { return is_settled(lane.state); };
    if (has_settled_ || !std::ranges::all_of(statuses_, is_done)) return;
    has_settled_ = true;
    if (terminal_) {
        terminal_->draw("");
        terminal_.reset();
        for (std::size_t lane = 0; lane < lanes_.size(); ++lane) say_lane(lane);
    }
    const auto serving = std::ranges::count_if(
        statuses_, [](const LaneStatus& lane) { return is_serving(lane.state); });
    const auto all = std::ssize(statuses_);
    if (serving == 0 || serving == all) return;
    say(fmt::format("{} of {} lanes serve", serving, all));
    say_unproved();
    say_hint();
}

/// Reports once that no lane serves and none will soon. After a lane has served, this may be
/// reported again.
void TerminalReporter::say_when_none_serves() {
    const bool none_will = std::ranges::all_of(statuses_, [](const LaneStatus& lane) {
        return lane.state == LaneState::failed || lane.state == LaneState::quarantined;
    });
    if (std::exchange(none_serves_, none_will) || !none_will || statuses_.empty()) return;
    const std::string why = death_notices_.cause_of_all();
    const std::string_view before = why.empty() ? "" : ": ";
    const bool is_watched = std::ranges::all_of(
        config_.pools, [](const PoolConfig& pool) { return pool.worker.watch; });
    // A reload revives lanes that failed or gave wrong answers. It can't bring back a lost GPU.
    const bool is_revived = std::ranges::any_of(statuses_, [](const LaneStatus& lane) {
        return lane.state == LaneState::failed || lane.reason == Reason::proof_failed ||
               lane.reason == Reason::disagrees;
    });
    if (is_watched && is_revived)
        return say(fmt::format("no lane serves{}{}; fix the file and save it", before, why));
    // A restart would start the same code again, although somebody may have fixed it since.
    const bool is_reloaded =
        is_revived && std::ranges::all_of(config_.pools, &PoolConfig::is_native);
    say(fmt::format("no lane serves{}{}; when that is fixed: {}{}", before, why,
                    command(is_reloaded ? "reload" : "restart all"),
                    has_terminal_ ? " (or press Ctrl-C and run `up` again)" : ""));
}

void TerminalReporter::draw() {
    if (!terminal_) return;
    std::vector<LaneSnapshot> lanes;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) lanes.push_back(snapshot_of(lane));
    std::string block = lane_block(lanes, terminal_->screen());
    if (block == drawn_) return;
    terminal_->draw(block);
    drawn_ = std::move(block);
}

void TerminalReporter::say_when_all_serve() {
    const auto all_serve = [](const LaneStatus& lane) { return is_serving(lane.state); };
    if (all_served_ || !std::ranges::all_of(statuses_, all_serve)) return;
    all_served_ = true;
    say("all lanes serve");
    say_unproved();
    say_hint();
}

/// True if the pool's workers say that they run an ASGI app, which has no example and has paths of
/// its own.
bool TerminalReporter::is_asgi_app(std::size_t pool) const {
    return std::ranges::any_of(lanes_of(pool), [this](std::size_t lane) {
        return lanes_[lane].now.model_facts.starts_with(R"({"asgi":)");
    });
}

/// Warns once about pools that serve unproved. Must be called when the first lanes serve: only then
/// is it known whether the model has an example.
void TerminalReporter::say_unproved() {
    if (std::exchange(unproved_told_, true)) return;
    for (std::size_t i = 0; i < config_.pools.size(); ++i) {
        const PoolConfig& pool = config_.pools[i];
        const bool is_proved = std::ranges::any_of(lanes_of(i), [this](std::size_t lane) {
            return lanes_[lane].now.start.proof.has_value();
        });
        if (!pool.is_native() || pool.settings.proof != ProofKind::none || is_proved) continue;
        const bool has_no_example = !is_asgi_app(i);
        say(
            fmt::format("pool {}: {}no proof is configured, so lanes serve unproved; to add one: "
                        "{}[pool.{}.proof]",
                        pool.name, has_no_example ? "the model has no example and " : "",
                        has_no_example ? "example = ... in the model, or " : "", pool.name));
    }
}

void TerminalReporter::say_hint() const {
    const auto usual = config_.pools.size() == 1
                           ? config_.pools.begin()
                           : std::ranges::find_if(config_.pools, &PoolConfig::is_default);
    if (keys_are_required_ || usual == config_.pools.end()) return;
    const std::string request =
        usual->settings.proof == ProofKind::none ? std::string() : request_text(usual->proof, url_);
    if (!request.empty()) return say("try: " + request);
    if (is_asgi_app(static_cast<std::size_t>(usual - config_.pools.begin())))
        return say(fmt::format("send jobs to {}, with the paths of the app", url_));
    const std::string path = first_columns(sanitized(usual->proof.path), path_shown_max);
    if (usual->is_native() && usual->settings.proof == ProofKind::none)
        return say(fmt::format("send jobs to {}, e.g. curl {}{} -d '{{\"your\": \"input\"}}'", url_,
                               url_, path));
    say(fmt::format("send jobs to {}, e.g. {} {}", url_, usual->proof.method, path));
}

void TerminalReporter::tell(const ReportModelFailing& report) {
    say(
        fmt::format("pool {}: every lane fails job after job (latest: lane {}); the model itself "
                    "seems to be at fault; see: {}",
                    config_.pools[report.pool.value].name, report.lane.value,
                    command(fmt::format("logs {}", report.lane.value))));
}

void TerminalReporter::tell(const ReportNoMajority& report) {
    say(
        fmt::format("pool {}: the lanes answer the proof differently, and no answer has a "
                    "majority, so all lanes serve; see: {}",
                    config_.pools[report.pool.value].name, command("status")));
}

void TerminalReporter::tell(const Crash& crash) {
    LaneStatus& said = reported_[crash.lane];
    said.trouble = crash.trouble;  // so that it is not reported twice
    if (is_serving(said.state)) said.state = LaneState::starting;
    death_notices_.add({.lane = crash.lane,
                        .why = crash.trouble.empty()
                                   ? std::string(words_for(statuses_[crash.lane].reason))
                                   : shown(crash.trouble),
                        .report = crash.report});
}

void TerminalReporter::say_deaths() {
    for (const DeathNotices::Notice& told : death_notices_.take())
        say(told.text +
            (told.report.empty() ? "" : "; more: " + command("crashes " + told.report)));
}

void TerminalReporter::tell(const ReportSlowJob& report) {
    say(fmt::format("a job runs much longer than the usual {} of its pool; see: {}",
                    span_text(report.usual), command("status")));
}

void TerminalReporter::say_problem(std::string_view of, const std::string& now,
                                   std::string& before) const {
    if (now != before && !now.empty()) say(fmt::format("{}: {}", of, now));
    before = now;
}

/// Reports once that an import takes long. A file that trains, waits or serves while it is imported
/// never becomes a model.
void TerminalReporter::say_slow_import() {
    for (std::size_t lane = 0; lane < lanes_.size() && !slow_import_told_; ++lane) {
        const WorkerFacts& facts = lanes_[lane].now;
        const bool imports =
            is_coming_up(statuses_[lane].state) && facts.loading && !facts.start.import;
        if (!imports || snapshot_of(lane).time < import_usual_max) continue;
        slow_import_told_ = true;
        say(fmt::format(
            "lane {} still imports its model after {} s; what it does: {}; what it prints: {}",
            lane, std::chrono::round<std::chrono::seconds>(import_usual_max).count(),
            command(fmt::format("stacks {}", lane)), command(fmt::format("logs {}", lane))));
    }
}

/// Prints each remark once, since lanes of the same command have the same remark.
void TerminalReporter::say_remarks() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        const LaneFacts& facts = lanes_[lane];
        if (!facts.remark.empty() && remarks_.insert(facts.remark).second)
            say(fmt::format("lane {}: {}", lane, facts.remark));
        const std::string& of_proof = facts.now.proof.remark;
        if (!of_proof.empty() && is_serving(statuses_[lane].state) &&
            remarks_.insert(of_proof).second)
            say(fmt::format("lane {}: {}", lane, shown(of_proof)));
    }
}

void TerminalReporter::report_changes(const Problems& problems) {
    say_deaths();
    report_reloads();
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) say_lane(lane);
    say_slow_import();
    settle();
    say_remarks();
    say_when_all_serve();
    say_when_none_serves();
    say_problem("job log", problems.job_log, problems_.job_log);
    say_problem("logs of lanes", problems.lane_logs, problems_.lane_logs);
    say_problem("API keys", problems.keys, problems_.keys);
    say_problem("watching files", problems.watch, problems_.watch);
    say_problem("runtime folder", problems.runtime_folder, problems_.runtime_folder);
    draw();
}

void TerminalReporter::stopping(bool is_first, Duration patience, const View& view) {
    if (terminal_) terminal_->draw("");
    terminal_.reset();
    has_settled_ = true;
    if (!is_first) return say("stopping at once");
    if (view.jobs == 0) return say("stopping; a second Ctrl-C (or SIGTERM) stops at once");
    say(fmt::format(
        "stopping: {} job{} may finish within {}; a second Ctrl-C (or SIGTERM) stops at once",
        view.jobs, view.jobs == 1 ? "" : "s", text_of(patience)));
}

void TerminalReporter::stopped() {
    say_deaths();
    say("stopped");
}

}  // namespace turnpike
