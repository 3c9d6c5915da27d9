// What `up` tells the person at the terminal: where to send requests, how lanes come and go, and how
// it ends. Plain lines on stderr, so that they read well in a terminal and in a file; in a terminal
// a block of lines, one per lane, lives below them until the lanes are up for the first time.
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
#include "serve/deaths.h"
#include "serve/live.h"
#include "telemetry/lane_facts.h"
#include "telemetry/pool_facts.h"
#include "terminal/terminal.h"

namespace turnpike {

class News {
public:
    /// `gate`: its name, for what it advises to run.
    News(const Config& config, const std::vector<LaneFacts>& lanes, Clock& clock,
         std::string_view gate = "default");
    /// The reloads are told, too: by each look, and at once by tell_reloads(). It must outlive this.
    void follow(const std::vector<PoolFacts>& pools);
    void tell_reloads();

    void opened(const Address& bound, bool keys_are_required);
    /// Said by the next look(), if it still holds: a lane that is doubted for a moment is no news.
    void tell(const ReportLane& report);
    void tell(const ReportModelFailing& report);
    void tell(const ReportNoMajority& report);
    void tell(const ReportSlowJob& report);
    /// What is wrong beside the lanes; empty: nothing.
    struct Problems {
        std::string job_log;
        std::string lane_logs;
        std::string keys;
        std::string watch;
    };
    struct Crash {
        std::size_t lane = 0;
        std::string trouble;
        std::string report;  // the id of what is kept of it; empty: nothing is
    };
    /// A worker of ours died. Said by the next look(), with those that died alike.
    void tell(const Crash& crash);
    /// Something that is worth a line.
    void remark(const std::string& text) const {
        if (!text.empty()) say(text);
    }
    /// How the lanes are, and the rest; said when it changes.
    void look(const Problems& problems);
    void stopping(bool is_first, Duration patience, const View& view);
    void stopped();

    /// Where it serves, once it has opened.
    [[nodiscard]] const std::string& url() const { return url_; }

private:
    /// What is known of a lane, or was said of it.
    struct LaneStatus {
        LaneState state = LaneState::starting;
        Reason reason = Reason::none;
        std::string trouble;
    };

    /// How the latest start of a lane goes.
    struct Start {
        Instant served_at = never;
        Instant said = never;     // the start whose end was told
        Instant progress_told{};  // the latest time
    };

    void say(const std::string& text) const;
    void say_lane(std::size_t lane);
    void say_reload_begun(std::size_t pool) const;
    void say_reload_ended(std::size_t pool);
    [[nodiscard]] std::vector<std::size_t> lanes_of(std::size_t pool) const;
    /// What becomes of it is told when the reload is over.
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
    /// "turnpike logs 0 --name blue"
    [[nodiscard]] std::string command(std::string_view words) const;
    [[nodiscard]] std::string what_next(LaneState state, std::size_t lane) const;

    const Config& config_;
    const std::vector<LaneFacts>& lanes_;
    Clock& clock_;
    const std::string name_flag_;  // " --name blue"; empty: it is not needed
    const Instant opened_at_;
    std::optional<Terminal> terminal_;  // while the block lives
    const bool has_terminal_;           // somebody can press Ctrl-C
    std::string drawn_;
    std::vector<LaneStatus> statuses_;
    std::vector<LaneStatus> said_;
    std::vector<Start> starts_;
    Deaths deaths_;
    const std::vector<PoolFacts>* pools_ = nullptr;
    /// What was said of a pool's reloads.
    struct ReloadSaid {
        Generation begun;
        Generation ended;
    };
    std::vector<ReloadSaid> reloads_said_;
    std::string url_;
    Problems problems_;
    std::set<std::string> remarks_;  // those that were said
    bool keys_are_required_ = false;
    bool has_settled_ = false;  // the lanes came up, or will not
    bool all_served_ = false;
    bool none_serves_ = false;  // nor will any by itself
    bool unproved_told_ = false;
    bool slow_import_told_ = false;
};

}  // namespace turnpike
