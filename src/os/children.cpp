#include "os/children.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ranges>
#include <utility>

#include <boost/asio/post.hpp>

namespace turnpike {
namespace {

constexpr std::chrono::milliseconds chase_every{10};
constexpr std::chrono::milliseconds chase_stuck_every{500};
constexpr std::chrono::seconds stuck_after{1};

}  // namespace

Children::Children(boost::asio::io_context& loop)
    : loop_(loop), signals_(loop, SIGCHLD), timer_(loop) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    // A script that ends with "exec turnpike up" may leave us children that it started before. We
    // must not end them.
    for (const pid_t child : own_children()) known_.emplace(child, [](const ExitStatus&) {});
    wait_for_signal();
}

void Children::watch(pid_t pid, Ended ended) {
    known_.emplace(pid, std::move(ended));
    boost::asio::post(loop_, [this, pid] {  // the child may have ended already
        reap();
        siginfo_t child{};
        const bool is_ours =
            ::waitid(P_PID, static_cast<id_t>(pid), &child, WEXITED | WNOHANG | WNOWAIT) == 0;
        const auto found = known_.find(pid);
        if (is_ours || found == known_.end()) return;
        const Ended missed = std::move(found->second);  // the child was reaped as a stray
        known_.erase(found);
        missed({});
    });
}

void Children::wait_for_signal() {
    signals_.async_wait([this](boost::system::error_code error, int) {
        if (error) return;
        wait_for_signal();
        reap();
    });
}

void Children::reap() {
    while (true) {
        siginfo_t child{};
        if (::waitid(P_ALL, 0, &child, WEXITED | WNOHANG) != 0 || child.si_pid == 0) return;
        const auto found = known_.find(child.si_pid);
        if (found == known_.end()) {
            ended_strays_.push_back(child.si_pid);
            continue;
        }
        const Ended ended = std::move(found->second);
        known_.erase(found);
        ended({.code = child.si_code, .status = child.si_status});
    }
}

void Children::end_strays(StrayUser user) {
    chase_began_ = std::chrono::steady_clock::now();
    is_stuck_ = false;
    waiting_.push_back(std::move(user));
    chase();
}

void Children::chase() {
    reap();
    const std::size_t ended_before = ended_strays_.size();
    for (const pid_t child : own_children())
        if (!known_.contains(child)) ::kill(child, SIGKILL);
    const auto known = known_ | std::views::keys;
    const std::vector<pid_t> except(known.begin(), known.end());
    const auto all = try_list_processes();
    if (!all) return chase_later({});  // we can't see them, so they may all be there
    const std::vector<ProcessFacts> strays = descendants_of(::getpid(), *all, except);
    for (const ProcessFacts& stray : strays) send_signal(stray.id, SIGKILL);
    reap();
    // A stray that ended while we listed processes may have left a child that is not in the list.
    if (!strays.empty() || ended_strays_.size() != ended_before) return chase_later(strays);
    const std::vector<pid_t> pids = std::exchange(ended_strays_, {});
    for (const StrayUser& user : std::exchange(waiting_, {})) user.gone(pids);
}

void Children::chase_later(std::span<const ProcessFacts> left) {
    const auto chased = std::chrono::steady_clock::now() - chase_began_;
    if (chased > stuck_after && !left.empty() && !std::exchange(is_stuck_, true)) {
        const ProcessFacts& one = left.front();
        for (const StrayUser& user : waiting_)
            user.stuck(one.name + " (pid " + std::to_string(one.id.pid) + ")");
    }
    if (std::exchange(is_timer_running_, true)) return;
    timer_.expires_after(is_stuck_ ? chase_stuck_every : chase_every);
    timer_.async_wait([this](boost::system::error_code error) {
        is_timer_running_ = false;
        if (!error) chase();
    });
}

}  // namespace turnpike
