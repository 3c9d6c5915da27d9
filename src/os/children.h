// The gate's own child processes: guards, and sometimes a tool. The gate is a subreaper: the
// processes that a killed guard leaves behind become the gate's children, too. They are called
// strays, and this class ends them.
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
    /// Gets the pids of the strays that have ended.
    using AllGone = std::function<void(std::vector<pid_t>)>;

    explicit Children(boost::asio::io_context& loop);
    Children(const Children&) = delete;
    Children& operator=(const Children&) = delete;

    /// Watches a child that was just started, or that the gate just inherited. Calls `ended` once,
    /// from the loop.
    void watch(pid_t pid, Ended ended);
    [[nodiscard]] bool has(pid_t pid) const { return known_.contains(pid); }

    struct StrayUser {
        AllGone gone;
        /// Called with the name and pid of a process that survives SIGKILL: "python3 (pid 4711)".
        std::function<void(const std::string&)> stuck;
    };
    /// Must be called when a guard has died. Ends the processes that it left behind. Calls `gone`
    /// when none is left, and before that `stuck`, once, if a process survives SIGKILL.
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
    bool is_stuck_ = false;  // a stray survives SIGKILL, so we look less often
    std::vector<pid_t> ended_strays_;
};

}  // namespace turnpike
