// The gate's side of one guard: starts the guard, receives its reports, sends it requests. All
// callbacks come from the loop, never from within a call.
//
// WorkerGuard is the seam: Guarded is the real one, and a test's one needs no processes.
#pragma once

#include <array>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/generic/seq_packet_protocol.hpp>

#include "os/children.h"
#include "os/file.h"
#include "os/guard.h"
#include "os/shortage.h"

namespace turnpike {

/// How a worker's main process ended.
struct WorkerEnd {
    std::string how;  // "killed by SIGKILL", "exit code 1", "its guard died: killed by SIGKILL"
    std::optional<ExitStatus> exit;  // nullopt if nobody saw it end
    std::int64_t memory_peak_kib = 0;
    Shortage shortage = Shortage::none;  // why it could not be started, if that was the reason
};

/// Why a guard can't start.
struct StartFailure {
    std::string told;
    Shortage shortage = Shortage::none;
};

/// Callbacks about one worker and its guard. Their order is started, exited, gone; or exited, gone
/// if the worker could not be started; or never_started alone. No call follows `gone` or
/// `never_started`.
struct GuardedUser {
    std::function<void(const ProcessId&)> started;
    std::function<void(const WorkerEnd&)> exited;
    std::function<void(const std::string&)> stuck;  // "python3 (pid 4711)" survives SIGKILL
    std::function<void(std::vector<pid_t>)> gone;   // no process is left; these pids ended last
    /// Called if the warm process did not make a guard from the offer.
    std::function<void()> never_started = [] {};
};

class WorkerGuard {
public:
    WorkerGuard() = default;
    virtual ~WorkerGuard() = default;
    WorkerGuard(const WorkerGuard&) = delete;
    WorkerGuard& operator=(const WorkerGuard&) = delete;

    /// Our ends of the worker's output pipes and, with Link::socket, of its own socket
    /// (link_descriptor).
    struct Ends {
        UniqueFd out, err, link;
    };
    enum class Link : std::uint8_t { none, socket };
    /// Starts the guard, which starts the worker.
    [[nodiscard]] virtual std::expected<Ends, StartFailure> start(
        const GuardOrders& orders, const std::vector<std::string>& environment, Link link) = 0;

    /// The other ends, for a guard and a worker that a warm process (supervisor/process/warm.h)
    /// makes.
    struct Offer {
        UniqueFd out, err, control, link;
    };
    struct Offered {
        Ends ends;
        Offer theirs;
    };
    /// Makes the ends for a warm start. The caller sends `theirs` to the warm process. The new
    /// guard becomes a child of ours; guard() is its pid from its first report on. The error is a
    /// message.
    [[nodiscard]] virtual std::expected<Offered, std::string> offer() = 0;

    virtual void terminate() = 0;
    virtual void kill() = 0;
    /// Stops all callbacks. The guard ends its tree as if the gate were gone.
    virtual void abandon() = 0;

    /// Returns the guard's pid, or 0 if there is no guard yet.
    [[nodiscard]] virtual pid_t guard() const = 0;
};

/// Makes a guard that has not been started yet.
using MakeGuard = std::function<std::shared_ptr<WorkerGuard>(GuardedUser)>;

class Guarded final : public WorkerGuard, public std::enable_shared_from_this<Guarded> {
public:
    Guarded(boost::asio::io_context& loop, Children& children, GuardedUser user);

    [[nodiscard]] std::expected<Ends, StartFailure> start(
        const GuardOrders& orders, const std::vector<std::string>& environment,
        Link link = Link::none) override;
    [[nodiscard]] std::expected<Offered, std::string> offer() override;
    void terminate() override { ask(GuardRequest::terminate); }
    void kill() override;
    void abandon() override;
    [[nodiscard]] pid_t guard() const override { return guard_; }
    /// True if the worker's whole tree is gone, or after abandon().
    [[nodiscard]] bool is_gone() const { return is_gone_; }

private:
    using Socket = boost::asio::generic::seq_packet_protocol::socket;

    void ask(GuardRequest request);
    void listen();
    void hear(const GuardReport& report);
    void watch_guard(pid_t guard);
    void guard_ended();
    void worker_ended(const WorkerEnd& end);

    Children& children_;
    GuardedUser user_;
    Socket control_;
    boost::asio::socket_base::message_flags flags_ = 0;
    GuardReport report_;
    pid_t guard_ = 0;
    std::optional<ExitStatus> guard_exit_;
    std::optional<std::vector<pid_t>> last_pids_;  // set once the guard reports `gone`
    bool is_silent_ = false;                       // all reports of the guard are read
    bool has_exited_ = false;                      // the worker has exited
    bool is_gone_ = false;                         // the whole tree is gone, or was abandoned
};

}  // namespace turnpike
