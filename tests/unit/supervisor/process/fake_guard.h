// A guard without processes: it notes what it was asked, and the test says what becomes of the
// worker. The pipes and the worker's socket are real.
//
// Like the real one, it calls its user in the order that GuardedUser documents, never from within a
// call of the user, and never after `gone` or abandon().
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/guarded.h"

namespace turnpike {

/// How a test's worker ends.
inline WorkerEnd exit_code(int code) {
    return {.how = "exit code " + std::to_string(code),
            .exit = ExitStatus{.code = CLD_EXITED, .status = code}};
}
inline WorkerEnd killed_by(int signal) {
    const ExitStatus exit{.code = CLD_KILLED, .status = signal};
    return {.how = words_for(exit), .exit = exit};
}

class FakeGuard final : public WorkerGuard {
public:
    /// No process of this machine has such a pid.
    static constexpr pid_t pid_min = 0x40000000;

    FakeGuard(GuardedUser user, pid_t pid, StartFailure refusal)
        : user_(std::move(user)), pid_(pid), refusal_(std::move(refusal)) {}

    // ── what the user asks ──
    [[nodiscard]] std::expected<Ends, StartFailure> start(const GuardOrders& with,
                                                          const std::vector<std::string>& variables,
                                                          Link wanted) override {
        EXPECT_EQ(state_, State::made);
        orders = with;
        environment = variables;
        if (!refusal_.told.empty()) return std::unexpected(refusal_);
        state_ = State::starting;
        return make_ends(wanted);
    }
    [[nodiscard]] std::expected<Offered, std::string> offer() override {
        EXPECT_EQ(state_, State::made);
        if (!refusal_.told.empty()) return std::unexpected(refusal_.told);
        state_ = State::offered;
        Offered offered{.ends = make_ends(Link::socket), .theirs = {}};
        // The warm process gets copies: the test plays the worker that it forks.
        offered.theirs = {.out = copy_of(out_),
                          .err = copy_of(err_),
                          .control = copy_of(link),
                          .link = copy_of(link)};
        return offered;
    }
    void terminate() override { asked.emplace_back("terminate"); }
    void kill() override { asked.emplace_back("kill"); }
    void abandon() override {
        asked.emplace_back("abandon");
        state_ = State::over;
    }
    [[nodiscard]] pid_t guard() const override {
        return state_ == State::made || state_ == State::offered ? 0 : pid_;
    }

    // ── what becomes of the worker ──
    void runs() {
        EXPECT_TRUE(state_ == State::starting || state_ == State::offered);
        state_ = State::running;
        user_.started({.pid = worker_pid(), .start = 1});
    }
    /// No guard came from the offer: the warm process has closed what it got.
    void never_starts() {
        EXPECT_EQ(state_, State::offered);
        state_ = State::over;
        user_.never_started();
    }
    void prints(std::string_view text) const { put(out_, text); }
    void complains(std::string_view text) const { put(err_, text); }
    /// The worker ends, or it could not be started. Its pipes are still open, as a process that it
    /// started may have them.
    void exits(const WorkerEnd& end) {
        EXPECT_TRUE(state_ == State::starting || state_ == State::offered ||
                    state_ == State::running);
        state_ = State::exited;
        user_.exited(end);
    }
    void is_stuck(const std::string& who) {
        EXPECT_NE(state_, State::over);
        user_.stuck(who);
    }
    /// No process is left.
    void is_gone(std::vector<pid_t> pids = {}) {
        EXPECT_EQ(state_, State::exited);
        state_ = State::over;
        out_ = UniqueFd();
        err_ = UniqueFd();
        link = UniqueFd();
        user_.gone(std::move(pids));
    }
    [[nodiscard]] pid_t worker_pid() const { return pid_ + 1; }
    /// False after `gone` and abandon().
    [[nodiscard]] bool is_over() const { return state_ == State::over; }

    GuardOrders orders;
    std::vector<std::string> environment;
    std::vector<std::string> asked;
    UniqueFd link;  // the worker's end of its socket, with Link::socket

private:
    //  made ─start()─▶ starting ─▶ running ─▶ exited ─▶ over
    //    │                │           ▲          ▲        ▲
    //    │                └───────────┼──────────┤        │
    //    └──offer()──▶ offered ───────┴──────────┴────────┘ never_starts()
    enum class State : std::uint8_t { made, starting, offered, running, exited, over };

    Ends make_ends(Link wanted) {
        Ends ours;
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        ours.out = UniqueFd(ends[0]);
        out_ = UniqueFd(ends[1]);
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        ours.err = UniqueFd(ends[0]);
        err_ = UniqueFd(ends[1]);
        if (wanted == Link::none) return ours;
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        ours.link = UniqueFd(ends[0]);
        link = UniqueFd(ends[1]);
        return ours;
    }
    static UniqueFd copy_of(const UniqueFd& fd) {
        return UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    }
    static void put(const UniqueFd& pipe, std::string_view text) {
        EXPECT_EQ(::write(pipe.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }

    GuardedUser user_;
    const pid_t pid_;
    const StartFailure refusal_;
    State state_ = State::made;
    UniqueFd out_, err_;
};

/// All guards that were made.
struct FakeGuards {
    std::vector<std::shared_ptr<FakeGuard>> made;
    StartFailure refusal;  // why the next one can't start; empty if it can

    [[nodiscard]] MakeGuard maker() {
        return [this](GuardedUser user) {
            const auto pid = static_cast<pid_t>(FakeGuard::pid_min + 2 * made.size());
            made.push_back(
                std::make_shared<FakeGuard>(std::move(user), pid, std::exchange(refusal, {})));
            return made.back();
        };
    }
    [[nodiscard]] FakeGuard& last() { return *made.at(made.size() - 1); }
};

}  // namespace turnpike
