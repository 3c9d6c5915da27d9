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
    void tell(const ReportLane& report);
    void tell(const ReportModelFailing& report);
    void tell(const ReportNoMajority& report);
    void tell(const ReportSlowJob& report);
    /// What is wrong with lanes that do not come up, the log and the keys; said when it changes.
    void look(const std::string& log_problem, const std::string& keys_problem);
    void stopping(bool is_first, Duration patience, const View& view);
    void stopped();

private:
    void say_when_all_serve();

    const Config& config_;
    const std::vector<LaneFacts>& lanes_;
    std::vector<LaneState> states_;
    std::vector<std::string> said_;  // of each lane's trouble
    std::string url_;
    std::string log_problem_;
    std::string keys_problem_;
    bool all_served_ = false;
};

}  // namespace turnpike
