// Prints the lines of `up`: where to send requests, how lanes start and stop, and how the gate
// ends. These are plain lines on stderr, which read well in a terminal and in a file. In a terminal,
// a block with a line per lane follows them until the lanes have started for the first time.
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

class TerminalReporter {
public:
    /// `gate` is the gate's name, for the commands that messages recommend.
    TerminalReporter(const Config& config, const std::vector<LaneFacts>& lanes, Clock& clock,
                     std::string_view gate = "default");
    /// Makes report_changes() report reloads, too. `pools` must outlive this object.
    void follow_reloads(const std::vector<PoolFacts>& pools);
    /// Reports what has changed about reloads since the last call.
    void report_reloads();

    void opened(const Address& bound, bool keys_are_required);
    /// Notes the lane's state. The next report_changes() reports the state if the lane still has
    /// it, so a lane that is doubted only for a moment is not reported.
    void tell(const ReportLane& report);
    void tell(const ReportModelFailing& report);
    void tell(const ReportNoMajority& report);
    void tell(const ReportSlowJob& report);
    /// Problems of parts that are not lanes. A text is empty if its part has no problem.
    struct Problems {
        std::string job_log;
        std::string lane_logs;
        std::string keys;
        std::string watch;
        std::string runtime_folder;
    };
    struct Crash {
        std::size_t lane = 0;
        std::string trouble;
        std::string report;  // the id of the crash report; empty if none was kept
    };
    /// Notes that a worker that we started died. The next report_changes() prints one line for all
    /// deaths of the same cause.
    void tell(const Crash& crash);
    /// Prints `text` as one line, unless it is empty.
    void remark(const std::string& text) const {
        if (!text.empty()) say(text);
    }
    /// Reports what has changed about lanes, reloads and problems since the last call.
    void report_changes(const Problems& problems);
    void stopping(bool is_first, Duration patience, const View& view);
    void stopped();

    /// Returns the gate's address. Empty until opened() was called.
    [[nodiscard]] const std::string& url() const { return url_; }

private:
    /// The state of a lane, and why the lane has it.
    struct LaneStatus {
        LaneState state = LaneState::starting;
        Reason reason = Reason::none;
        Instant tries_again_at{};  // in the past if it does not
        std::string trouble;
    };

    /// How far the latest start of a lane is.
    struct Start {
        Instant served_at = never;
        Instant reported = never;        // begin of the latest start whose end was reported
        Instant progress_reported_at{};  // when the latest progress line was printed
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
    [[nodiscard]] LaneSnapshot snapshot_of(std::size_t lane) const;
    [[nodiscard]] Instant start_of(std::size_t lane) const;
    void say_unproved();
    [[nodiscard]] bool is_asgi_app(std::size_t pool) const;
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
    std::vector<LaneStatus> statuses_;  // by lane: as it is now
    std::vector<LaneStatus> reported_;  // by lane: as it was last reported
    std::vector<Start> starts_;
    DeathNotices death_notices_;
    const std::vector<PoolFacts>* pools_ = nullptr;
    /// Which reload of a pool was last reported to begin, and which to end.
    struct ReportedReloads {
        Generation begun;
        Generation ended;
    };
    std::vector<ReportedReloads> reported_reloads_;  // by pool
    std::string url_;
    Problems problems_;
    std::set<std::string> remarks_;  // remarks that were printed
    bool keys_are_required_ = false;
    bool has_settled_ = false;  // every lane serves, or will not soon
    bool all_served_ = false;
    bool none_serves_ = false;  // no lane serves, and none will soon
    bool unproved_told_ = false;
    bool slow_import_told_ = false;
};

}  // namespace turnpike
