#include "os/guarded.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <span>
#include <utility>

#include <boost/asio/buffer.hpp>

#include "os/spawn.h"

namespace turnpike {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

using Kind = GuardReport::Kind;

struct Pair {
    UniqueFd ours, theirs;
};

std::optional<Pair> make_pipe() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
    return Pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::optional<Pair> make_sockets(int type) {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) return std::nullopt;
    return Pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::string_view words_for(GuardReport::Step step) {
    switch (step) {
        case GuardReport::Step::fork: return "no more processes can be made";
        case GuardReport::Step::session: return "its session or its socket can't be set up";
        case GuardReport::Step::folder: return "its folder can't be entered";
        case GuardReport::Step::exec: return "/bin/sh can't be run";
    }
    return "";
}

StartFailure failure_of(std::string_view what, int error) {
    return {.told = std::string(what) + ": " + text_of_error(error),
            .shortage = shortage_behind(error)};
}

/// Returns the name in the report. On a warm start a Python process had the guard's end of the
/// socket, so we do not trust that the name ends with a zero byte.
std::string name_in(const GuardReport& report) {
    return {report.name.begin(), std::ranges::find(report.name, '\0')};
}

}  // namespace

Guarded::Guarded(asio::io_context& loop, Children& children, GuardedUser user)
    : children_(children), user_(std::move(user)), control_(loop) {}

std::expected<Guarded::Ends, StartFailure> Guarded::start(
    const GuardOrders& orders, const std::vector<std::string>& environment, Link link) {
    auto out = make_pipe();
    auto err = make_pipe();
    auto control = make_sockets(SOCK_SEQPACKET);
    auto channel = link == Link::socket ? make_sockets(SOCK_STREAM) : Pair{};
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!out || !err || !control || !channel || !nothing)
        return std::unexpected(failure_of("no pipe could be made", errno));
    std::vector descriptors{nothing.get(), out->theirs.get(), err->theirs.get(),
                            control->theirs.get()};
    if (link == Link::socket) descriptors.push_back(channel->theirs.get());
    const auto pid = spawn({.program = "/proc/self/exe",
                            .arguments = arguments_of(orders),
                            .environment = environment,
                            .descriptors = std::move(descriptors)});
    if (!pid) return std::unexpected(failure_of("its guard can't be started", pid.error()));
    control_.assign(asio::generic::seq_packet_protocol(AF_UNIX, 0), control->ours.release());
    watch_guard(*pid);
    listen();
    return Ends{std::move(out->ours), std::move(err->ours), std::move(channel->ours)};
}

std::expected<Guarded::Offered, std::string> Guarded::offer() {
    auto out = make_pipe();
    auto err = make_pipe();
    auto control = make_sockets(SOCK_SEQPACKET);
    auto channel = make_sockets(SOCK_STREAM);
    if (!out || !err || !control || !channel)
        return std::unexpected("no pipe could be made: " + text_of_error(errno));
    control_.assign(asio::generic::seq_packet_protocol(AF_UNIX, 0), control->ours.release());
    listen();
    return Offered{.ends = {std::move(out->ours), std::move(err->ours), std::move(channel->ours)},
                   .theirs = {.out = std::move(out->theirs),
                              .err = std::move(err->theirs),
                              .control = std::move(control->theirs),
                              .link = std::move(channel->theirs)}};
}

void Guarded::watch_guard(pid_t guard) {
    guard_ = guard;
    children_.watch(guard_, [self = shared_from_this()](const ExitStatus& exit) {
        self->guard_exit_ = exit;
        self->guard_ended();
    });
}

void Guarded::ask(GuardRequest request) {
    if (!control_.is_open()) return;
    const char byte = static_cast<char>(request);
    ::send(control_.native_handle(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Guarded::kill() {
    ask(GuardRequest::kill);
    if (children_.has(guard_)) ::kill(guard_, SIGCONT);  // somebody may have stopped the guard
}

void Guarded::abandon() {
    is_gone_ = true;
    error_code ignored;
    control_.close(ignored);
}

void Guarded::listen() {
    control_.async_receive(asio::buffer(&report_, sizeof report_), flags_,
                           [self = shared_from_this()](error_code error, std::size_t size) {
                               // The guard ended before it read our request. The kernel
                               // reports this error once; the last reports can still be read.
                               if (error == asio::error::connection_reset) return self->listen();
                               if (error || size != sizeof report_) {
                                   self->is_silent_ = true;
                                   return self->guard_ended();
                               }
                               self->hear(self->report_);
                               self->listen();
                           });
}

void Guarded::hear(const GuardReport& report) {
    if (is_gone_) return;
    switch (report.kind) {
        case Kind::started:
            if (guard_ == 0) watch_guard(report.guard);
            return user_.started({.pid = report.pid, .start = report.start});
        case Kind::failed:
            return worker_ended(
                {.how = std::string(words_for(report.step)) + ": " + text_of_error(report.status),
                 .shortage = shortage_behind(report.status)});
        case Kind::exited: {
            const ExitStatus exit{.code = report.code, .status = report.status};
            return worker_ended({.how = turnpike::words_for(exit),
                                 .exit = exit,
                                 .memory_peak_kib = report.memory_peak_kib});
        }
        case Kind::stuck:
            return user_.stuck(name_in(report) + " (pid " + std::to_string(report.pid) + ")");
        case Kind::gone: break;
    }
    worker_ended({.how = "it is not known how"});
    const auto pids = std::span(report.pids)
                          .first(std::min<std::size_t>(report.pid_count, GuardReport::pids_max));
    last_pids_.emplace(pids.begin(), pids.end());
}

void Guarded::worker_ended(const WorkerEnd& end) {
    if (std::exchange(has_exited_, true)) return;
    user_.exited(end);
}

void Guarded::guard_ended() {
    if (!is_gone_ && is_silent_ && guard_ == 0) {
        is_gone_ = true;
        return user_.never_started();
    }
    if (is_gone_ || !is_silent_ || !guard_exit_) return;
    if (last_pids_) {  // the guard has ended everything, and then itself
        is_gone_ = true;
        return user_.gone(*std::move(last_pids_));
    }
    worker_ended({.how = "its guard died: " + turnpike::words_for(*guard_exit_)});
    children_.end_strays({.gone =
                              [self = shared_from_this()](std::vector<pid_t> pids) {
                                  if (!std::exchange(self->is_gone_, true))
                                      self->user_.gone(std::move(pids));
                              },
                          .stuck =
                              [self = shared_from_this()](const std::string& who) {
                                  if (!self->is_gone_) self->user_.stuck(who);
                              }});
}

}  // namespace turnpike
