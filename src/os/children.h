// The gate's own children: guards, and a tool now and then. The gate is a subreaper, so that what a
// killed guard leaves behind becomes its child, too: strays, which are ended here.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "os/process.h"

namespace turnpike {

class Children {
public:
    using Ended = std::function<void(const ExitStatus&)>;
    /// With the pids that were ended.
    using AllGone = std::function<void(std::vector<pid_t>)>;

    explicit Children(boost::asio::io_context& loop);
    Children(const Children&) = delete;
    Children& operator=(const Children&) = delete;

    /// A child that was just started, or became ours. `ended` is called once, from the loop.
    void watch(pid_t pid, Ended ended);
    [[nodiscard]] bool has(pid_t pid) const { return known_.contains(pid); }

    /// A guard died: ends what it left behind, and calls back when nothing of that is left; `stuck`
    /// hears once who survives SIGKILL: "python3 (pid 4711)".
    struct StrayUser {
        AllGone gone;
        std::function<void(const std::string&)> stuck;
    };
    void end_strays(StrayUser user);

private:
    void wait_for_signal();
    void reap();
    void chase();
    void chase_later(std::span<const ProcessFacts> left);

    boost::asio::io_context& loop_;
    boost::asio::signal_set signals_;
    boost::asio::steady_timer timer_;
    bool is_timer_running_ = false;
    std::map<pid_t, Ended> known_;
    std::vector<StrayUser> waiting_;
    std::chrono::steady_clock::time_point chase_began_;
    bool is_stuck_ = false;  // and told so: no need to look so often
    std::vector<pid_t> ended_strays_;
};

}  // namespace turnpike
