// The gate's side of one guard: starts it, hears it, asks it. Everything comes from the loop.
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

namespace turnpike {

/// How a worker's main process ended.
struct WorkerEnd {
    std::string how;  // "killed by SIGKILL", "exit code 1", "its guard died: killed by SIGKILL"
    std::optional<ExitStatus> exit;  // none: nobody saw it
    std::int64_t memory_peak_kib = 0;
};

/// What becomes of it: started, exited, gone; or exited, gone. `gone` is the last.
struct GuardedUser {
    std::function<void(const ProcessId&)> started;
    std::function<void(const WorkerEnd&)> exited;
    std::function<void(const std::string&)> stuck;  // who survives SIGKILL: "python3 (pid 4711)"
    std::function<void(std::vector<pid_t>)> gone;   // with the pids that ended last
    std::function<void()> never_started = [] {
    };  // of an offer: nobody made a guard of it. The last, too
};

class Guarded : public std::enable_shared_from_this<Guarded> {
public:
    Guarded(boost::asio::io_context& loop, Children& children, GuardedUser user);

    /// What we hold of the worker, if it could be started: its output pipes, and a socket whose other end
    /// is its link_descriptor, if it shall have one. Else why not.
    struct Ends {
        UniqueFd out, err, link;
    };
    enum class Link : std::uint8_t { none, socket };
    [[nodiscard]] std::expected<Ends, std::string> start(
        const GuardOrders& orders, const std::vector<std::string>& environment,
        Link link = Link::none);

    /// What a guard and its worker need that somebody else makes: a warm process (supervisor/warm.h), which
    /// gets `theirs`. The guard is heard when it speaks, and becomes a child of ours.
    struct Offer {
        UniqueFd out, err, control, link;
    };
    struct Offered {
        Ends ends;
        Offer theirs;
    };
    [[nodiscard]] std::expected<Offered, std::string> offer();

    void terminate() { ask(GuardRequest::terminate); }
    void kill();
    /// Nothing more is heard of it. Its tree ends, as if the gate were gone.
    void abandon();

    [[nodiscard]] pid_t guard() const { return guard_; }
    /// With its whole tree.
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
    std::optional<std::vector<pid_t>> last_pids_;  // none: the guard has not said that all is gone
    bool is_silent_ = false;                       // all that the guard had to say was heard
    bool has_exited_ = false;                      // the worker
    bool is_gone_ = false;                         // with its whole tree; or nobody cares any more
};

}  // namespace turnpike
