#include "os/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <tuple>

#include "base/leading_number.h"
#include "os/cgroup.h"
#include "os/file.h"
#include "os/shell_command.h"

namespace turnpike {
namespace {

constexpr int control = 3;
constexpr int link_place = 4;
constexpr int look_every_ms = 10;   // while killing
constexpr int stuck_look_ms = 500;  // while a process survives SIGKILL
constexpr int quick_rounds = 4;     // of killing our children, before we list all processes
constexpr std::chrono::seconds stuck_after{1};

using SteadyClock = std::chrono::steady_clock;

using Step = GuardReport::Step;

/// What went wrong between fork and exec. Sent through a pipe that exec closes.
struct Failure {
    Step step = Step::fork;
    int error = 0;
};

void reset_signals() {
    for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
    sigset_t none{};
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void limit_open_files(std::uint64_t files) {
    rlimit limit{};
    if (files == 0 || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = std::min<rlim_t>(files, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Runs in the child. Returns only if the worker can't be run.
Failure become_worker(const GuardOrders& orders, int link, pid_t guard) {
    if (::setsid() < 0 || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return {Step::session, errno};
    if (::getppid() != guard) ::_exit(1);                    // the guard has died meanwhile
    if (!orders.cgroup.empty()) join_cgroup(orders.cgroup);  // optional: failing does no harm
    if (!orders.folder.empty() && ::chdir(orders.folder.c_str()) != 0) return {Step::folder, errno};
    reset_signals();
    limit_open_files(orders.open_files);
    if (link >= 0 && ::dup2(link, link_descriptor) < 0) return {Step::session, errno};
    ::execl("/bin/sh", "sh", "-c", without_shell(orders.command).c_str(), nullptr);
    return {Step::exec, errno};
}

/// Closes our copies of the worker's output pipes, so that the pipes end with the worker.
void drop_output() {
    const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (const int output : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing.get(), output);
}

class Guard {
public:
    explicit Guard(GuardOrders orders) : orders_(std::move(orders)) {}

    int run() {
        prepare();
        orders_.adopted == 0 ? start_worker() : adopt_worker();
        while (!is_over_) watch();
        return 0;
    }

private:
    void prepare();
    void start_worker();
    void adopt_worker();
    void report_start() const;
    void watch();
    void take_requests();
    void reap();
    void child_ended(const siginfo_t& child, const rusage& used);
    [[nodiscard]] int poll_timeout_ms() const {
        if (!is_killing_) return -1;
        return has_reported_stuck_ ? stuck_look_ms : look_every_ms;
    }
    void begin_killing();
    void kill_all();
    void kill_children();
    void report_stuck(std::span<const ProcessFacts> left);
    void end();
    void report(const GuardReport& report) const {
        std::ignore = ::send(control, &report, sizeof report, MSG_NOSIGNAL);
    }

    GuardOrders orders_;
    UniqueFd signals_;
    UniqueFd link_;     // the worker's end, until the worker runs
    pid_t worker_ = 0;  // 0 once the worker has ended
    bool has_gate_ = true;
    bool is_killing_ = false;
    bool is_over_ = false;
    SteadyClock::time_point killing_since_;
    bool has_reported_stuck_ = false;
    GuardReport last_;  // the `gone` report, which collects the pids
    std::uint32_t others_ended_ = 0;
};

/// Ignores signals that are sent to the gate's process group or to all processes of a service at
/// once: the gate decides when its workers end.
void Guard::prepare() {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGTSTP})
        std::signal(number, SIG_IGN);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::fcntl(control, F_SETFD, FD_CLOEXEC);
    if (::fcntl(link_place, F_SETFD, FD_CLOEXEC) == 0) link_ = UniqueFd(link_place);
    sigset_t child{};
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child, nullptr);
    signals_ = UniqueFd(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
}

void Guard::start_worker() {
    int ends[2] = {-1, -1};
    const pid_t guard = ::getpid();
    const bool has_pipe = ::pipe2(ends, O_CLOEXEC) == 0;
    UniqueFd read_end(ends[0]);
    UniqueFd write_end(ends[1]);
    worker_ = has_pipe ? ::fork() : -1;
    if (worker_ == 0) {
        const Failure failure = become_worker(orders_, link_.get(), guard);
        std::ignore = ::write(write_end.get(), &failure, sizeof failure);
        ::_exit(127);
    }
    Failure failure{.error = errno};
    write_end.reset();
    link_.reset();  // so that the gate sees it close when the worker ends
    const bool failed = worker_ < 0 || ::read(read_end.get(), &failure, sizeof failure) > 0;
    drop_output();
    if (failed) {
        report({.kind = GuardReport::Kind::failed, .step = failure.step, .status = failure.error});
        begin_killing();
        if (worker_ < 0) return end();
    } else {
        report_start();
    }
}

/// Takes over a worker that runs already. Calls reap(), because the worker may have ended before we
/// listened to signals.
void Guard::adopt_worker() {
    worker_ = orders_.adopted;
    drop_output();
    report_start();
    reap();
}

void Guard::report_start() const {
    const auto facts = read_process(worker_);
    report({.kind = GuardReport::Kind::started,
            .pid = worker_,
            .guard = ::getpid(),
            .start = facts ? facts->id.start : 0});
}

void Guard::watch() {
    pollfd watched[] = {{.fd = has_gate_ ? control : -1, .events = POLLIN, .revents = 0},
                        {.fd = signals_.get(), .events = POLLIN, .revents = 0}};
    const int ready = ::poll(watched, 2, poll_timeout_ms());
    if (ready < 0 && errno != EINTR) begin_killing();
    if (ready > 0 && watched[0].revents != 0) take_requests();
    if (ready > 0 && watched[1].revents != 0) {
        signalfd_siginfo ignored{};
        while (::read(signals_.get(), &ignored, sizeof ignored) > 0) {
        }
    }
    reap();
    if (is_killing_ && !is_over_) kill_all();
}

void Guard::take_requests() {
    char request = 0;
    const ssize_t got = ::recv(control, &request, 1, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {  // the gate is gone
        has_gate_ = false;
        return begin_killing();
    }
    if (static_cast<GuardRequest>(request) == GuardRequest::kill) begin_killing();
    // The worker is not reaped yet, so its pid is still its own. An adopted worker may not have its
    // process group yet.
    if (static_cast<GuardRequest>(request) == GuardRequest::terminate && worker_ > 0 &&
        ::kill(-worker_, SIGTERM) != 0)
        ::kill(worker_, SIGTERM);
}

/// Reaps every child that has ended. If no child is left, the whole tree is gone.
void Guard::reap() {
    while (true) {
        siginfo_t child{};
        rusage used{};
        const long done = ::syscall(SYS_waitid, P_ALL, 0, &child, WEXITED | WNOHANG, &used);
        if (done != 0 && errno == ECHILD) return end();
        if (done != 0 || child.si_pid == 0) return;
        child_ended(child, used);
    }
}

void Guard::child_ended(const siginfo_t& child, const rusage& used) {
    // The first entry is for the worker's pid. The others are a ring of the latest other pids.
    const bool is_worker = child.si_pid == worker_;
    last_.pids[is_worker ? 0 : 1 + others_ended_++ % (GuardReport::pids_max - 1)] = child.si_pid;
    if (!is_worker) return;
    worker_ = 0;
    report({.kind = GuardReport::Kind::exited,
            .code = child.si_code,
            .status = child.si_status,
            .pid = child.si_pid,
            .memory_peak_kib = used.ru_maxrss});
}

void Guard::begin_killing() {
    if (!std::exchange(is_killing_, true)) killing_since_ = SteadyClock::now();
}

/// Kills our direct children. Orphans become our children, so repeating this would end the whole
/// tree in time.
void Guard::kill_children() {
    for (int round = 0; round < quick_rounds && !is_over_; ++round) {
        for (const pid_t child : own_children()) ::kill(child, SIGKILL);
        reap();
    }
}

void Guard::kill_all() {
    if (!orders_.cgroup.empty()) kill_cgroup(orders_.cgroup);
    kill_children();
    if (is_over_) return;
    const std::vector<ProcessFacts> left = descendants_of(::getpid(), list_processes());
    for (const ProcessFacts& process : left) send_signal(process.id, SIGKILL);
    if (!has_reported_stuck_ && SteadyClock::now() - killing_since_ >= stuck_after)
        report_stuck(left);
}

void Guard::report_stuck(std::span<const ProcessFacts> left) {
    if (left.empty()) return;
    has_reported_stuck_ = true;
    GuardReport stuck{.kind = GuardReport::Kind::stuck, .pid = left.front().id.pid};
    left.front().name.copy(stuck.name.data(), stuck.name.size() - 1);
    stuck.pid_count = static_cast<std::uint32_t>(left.size());
    report(stuck);
}

void Guard::end() {
    if (!orders_.cgroup.empty()) remove_cgroup(orders_.cgroup);
    last_.kind = GuardReport::Kind::gone;
    last_.pid_count = std::min<std::uint32_t>(1 + others_ended_, GuardReport::pids_max);
    report(last_);
    is_over_ = true;
}

}  // namespace

std::vector<std::string> arguments_of(const GuardOrders& orders) {
    return {"turnpike",    guard_word,    orders.label,   std::to_string(orders.open_files),
            orders.cgroup, orders.folder, orders.command, std::to_string(orders.adopted)};
}

int run_guard(std::span<char* const> arguments) {
    constexpr std::size_t words = 8;
    if (arguments.size() != words || ::fcntl(control, F_GETFD) < 0) {
        std::fputs(
            "turnpike guard: Turnpike itself starts this above each worker; do not run it by "
            "hand\n",
            stderr);
        return 2;
    }
    GuardOrders orders{.label = arguments[2],
                       .open_files = leading_number<std::uint64_t>(arguments[3]),
                       .cgroup = arguments[4],
                       .folder = arguments[5],
                       .command = arguments[6],
                       .adopted = leading_number<pid_t>(arguments[7])};
    return Guard(std::move(orders)).run();
}

}  // namespace turnpike
