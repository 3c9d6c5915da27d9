// What `up` tells the person at the terminal: where to send requests, how lanes start and stop, and
// how the gate ends. It prints plain lines to stderr, which read well in a terminal and in a file.
// In a terminal there is also a block with a line per lane below them, until the lanes are up for
// the first time.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "core/action.h"
#include "core/view.h"
#include "os/clock.h"
#include "serve/death_notices.h"
#include "serve/lane_lines.h"
#include "telemetry/lane_facts.h"
#include "telemetry/pool_facts.h"
#include "terminal/terminal.h"

namespace turnpike {

class News {
public:
    /// `gate` is the gate's name, for the commands that messages recommend.
    News(const Config& config, const std::vector<LaneFacts>& lanes, Clock& clock,
         std::string_view gate = "default");
    /// Also reports reloads, on each look() and at once on tell_reloads(). `pools` must outlive
    /// this object.
    void follow(const std::vector<PoolFacts>& pools);
    void tell_reloads();

    void opened(const Address& bound, bool keys_are_required);
    /// Notes the lane's state. The next look() reports it if it still holds, so that a lane which
    /// is doubted for a moment only is not reported.
    void tell(const ReportLane& report);
    void tell(const ReportModelFailing& report);
    void tell(const ReportNoMajority& report);
    void tell(const ReportSlowJob& report);
    /// What is wrong with other things than lanes. Empty if nothing is.
    struct Problems {
        std::string job_log;
        std::string lane_logs;
        std::string keys;
        std::string watch;
    };
    struct Crash {
        std::size_t lane = 0;
        std::string trouble;
        std::string report;  // the id of the crash report; empty if none was kept
    };
    /// Notes that a worker that we started died. The next look() reports it, in one line with equal
    /// deaths.
    void tell(const Crash& crash);
    /// Prints a line of its own, unless `text` is empty.
    void remark(const std::string& text) const {
        if (!text.empty()) say(text);
    }
    /// Reports what has changed about the lanes and the problems since the last call.
    void look(const Problems& problems);
    void stopping(bool is_first, Duration patience, const View& view);
    void stopped();

    /// Returns the gate's address. Empty until opened() was called.
    [[nodiscard]] const std::string& url() const { return url_; }

private:
    /// What is known about a lane, or was last reported about it.
    struct LaneStatus {
        LaneState state = LaneState::starting;
        Reason reason = Reason::none;
        std::string trouble;
    };

    /// How far the latest start of a lane is.
    struct Start {
        Instant served_at = never;
        Instant said = never;     // when the start began whose end was reported
        Instant progress_told{};  // when the latest progress line was printed
    };

    void say(const std::string& text) const;
    void say_lane(std::size_t lane);
    void say_reload_begun(std::size_t pool) const;
    void say_reload_ended(std::size_t pool);
    [[nodiscard]] std::vector<std::size_t> lanes_of(std::size_t pool) const;
    /// True while the lane's pool reloads. What became of the lane is reported after the reload.
    [[nodiscard]] bool is_reloading(std::size_t lane) const;
    void say_serving(std::size_t lane);
    void say_progress(std::size_t lane);
    void say_slow_import();
    void say_remarks();
    void say_when_all_serve();
    void say_when_none_serves();
    void say_deaths();
    void say_problem(std::string_view of, const std::string& now, std::string& before) const;
    void settle();
    void draw();
    [[nodiscard]] LiveLane live(std::size_t lane) const;
    [[nodiscard]] Instant start_of(std::size_t lane) const;
    void say_unproved();
    [[nodiscard]] bool is_app(std::size_t pool) const;
    void say_hint() const;
    /// Returns "turnpike logs 0 --name blue" for the words "logs 0".
    [[nodiscard]] std::string command(std::string_view words) const;
    [[nodiscard]] std::string what_next(LaneState state, std::size_t lane) const;

    const Config& config_;
    const std::vector<LaneFacts>& lanes_;
    Clock& clock_;
    const std::string name_flag_;  // " --name blue"; empty if not needed
    const Instant opened_at_;
    std::optional<Terminal> terminal_;  // while the block is drawn
    const bool has_terminal_;           // so somebody can press Ctrl-C
    std::string drawn_;
    std::vector<LaneStatus> statuses_;
    std::vector<LaneStatus> said_;
    std::vector<Start> starts_;
    Deaths deaths_;
    const std::vector<PoolFacts>* pools_ = nullptr;
    /// The latest reloads of a pool whose begin and end were reported.
    struct ReloadSaid {
        Generation begun;
        Generation ended;
    };
    std::vector<ReloadSaid> reloads_said_;
    std::string url_;
    Problems problems_;
    std::set<std::string> remarks_;  // those that were printed
    bool keys_are_required_ = false;
    bool has_settled_ = false;  // every lane has started, or will not
    bool all_served_ = false;
    bool none_serves_ = false;  // and no lane will by itself
    bool unproved_told_ = false;
    bool slow_import_told_ = false;
};

}  // namespace turnpike
