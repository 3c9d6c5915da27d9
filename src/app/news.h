// What `up` tells the person at the terminal: where to send requests, how lanes come and go, and how
// it ends. Plain lines on stderr, so that they read well in a terminal and in a file.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "core/action.h"
#include "core/view.h"
#include "telemetry/lane_facts.h"

namespace turnpike {

class News {
public:
    News(const Config& config, const std::vector<LaneFacts>& lanes);

    void opened(const Address& bound, bool keys_are_required);
    /// Said by the next look(), if it still holds: a lane that is doubted for a moment is no news.
    void tell(const ReportLane& report);
    void tell(const ReportModelFailing& report);
    void tell(const ReportNoMajority& report);
    void tell(const ReportSlowJob& report);
    /// How the lanes are, and what is wrong with the log and the keys; said when it changes.
    void look(const std::string& log_problem, const std::string& keys_problem);
    void stopping(bool is_first, Duration patience, const View& view);
    void stopped();

private:
    /// What is known of a lane, or was said of it.
    struct Standing {
        LaneState state = LaneState::starting;
        Reason reason = Reason::none;
        std::string trouble;
    };

    void say_lane(std::size_t lane);
    void say_when_all_serve();
    [[nodiscard]] std::string hint() const;

    const Config& config_;
    const std::vector<LaneFacts>& lanes_;
    std::vector<Standing> standings_;
    std::vector<Standing> said_;
    std::string url_;
    std::string log_problem_;
    std::string keys_problem_;
    bool keys_are_required_ = false;
    bool all_served_ = false;
};

}  // namespace turnpike
