#include "supervisor/http/started_worker.h"

#include <unistd.h>

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "os/runtime_folder.h"

namespace turnpike {

namespace asio = boost::asio;

namespace {

constexpr Duration look_every = 50ms;  // how often we look at the port until the worker listens
constexpr Duration look_often_for = 10s;
constexpr Duration look_seldom_every = 250ms;     // after look_often_for
constexpr std::uint32_t looks_per_thorough = 10;  // a thorough look also finds other ports
constexpr std::uint32_t first_thorough = 3;       // the number of the first thorough look
constexpr Duration exit_delay = 250ms;  // how late an exit may be reported after a link broke

}  // namespace

StartedWorker::StartedWorker(WorkerDeps& deps, ProcessDeps& process_deps, const StartWorker& start,
                             const StartedLane& lane)
    : HttpWorker(deps, start,
                 {.pool = lane.pool,
                  .host = "localhost",
                  .prefix = "",
                  .common = lane.proof,
                  .dialer = std::make_unique<CheckedDialer>(deps.dialer, eyes())}),
      process_deps_(process_deps),
      plan_(lane.plan),
      process_(deps, process_deps, start, lane, *this) {}

// ── coming up ────────────────────────────────────────────────────────────────────────────────────

void StartedWorker::start() {
    process_.begin();
    if (const auto why_not = choose_address()) return process_.could_not_start(*why_not);
    process_.start({.command = filled_command(setup_.pool.worker.command, plan_, lane_.value,
                                              {.port = port_, .socket = socket_path_})});
}

/// Chooses where the worker must listen. Returns why there is no such place, or nullopt.
std::optional<StartFailure> StartedWorker::choose_address() {
    const std::string& command = setup_.pool.worker.command;
    if (command.contains("{socket}")) {
        socket_path_ = fmt::format("{}/w{}", process_deps_.folder, process_deps_.starts);
        if (socket_path_.size() > socket_path_max)
            return StartFailure{.told = "the path of its socket is too long"};
        ::unlink(socket_path_.c_str());
        destination_.endpoints = {asio::local::stream_protocol::endpoint(socket_path_)};
    } else {
        const auto port = choose_port(process_deps_.ports, process_deps_.random());
        if (!port) return StartFailure{.told = text_of(port.error()), .shortage = port.error()};
        port_ = *process_deps_.ports.insert(*port).first;
    }
    return std::nullopt;
}

/// Looks at the process table until the worker listens; from then on polls its health path.
void StartedWorker::come_up() {
    if (state_ != State::coming) return;
    if (listens_at_ != never) return poll_health();
    if (port_ == 0) {
        lane_facts().remark.clear();
        return ::access(socket_path_.c_str(), F_OK) == 0 ? started_listening() : look_later();
    }
    const PortLook look =
        looks_++ % looks_per_thorough == first_thorough ? PortLook::thorough : PortLook::quick;
    process_deps_.process_table.run(
        [look_at = process_deps_.look_at_port, port = port_, guard = process_.guard(), look] {
            return std::pair(look_at(port, guard, look), look);
        },
        lifeline_.bind([this](const std::pair<PortStatus, PortLook>& seen) {
            port_seen(seen.first, seen.second);
        }));
}

void StartedWorker::look_later() {
    const bool is_early = deps_.clock.now() - process_.started_at() < look_often_for;
    process_.after(is_early ? look_every : look_seldom_every, [this] { come_up(); });
}

void StartedWorker::port_seen(const PortStatus& status, PortLook look) {
    if (state_ != State::coming) return;
    switch (status.holder) {
        case PortStatus::Holder::tree:
            lane_facts().remark =
                status.is_exposed ? "its worker listens on every address, so that other machines "
                                    "reach it past the gate: add --host 127.0.0.1 to its command"
                                  : "";
            setup_.dialer->know(status.listeners);
            return set_destination(status.protocol);
        case PortStatus::Holder::stranger: set_stranger(status); break;
        case PortStatus::Holder::unknown:
            set_trouble({.cause = LaneCause::shortage, .told = text_of(status.shortage)});
            process_.progressed();  // it is not silent: we can't look
            break;
        case PortStatus::Holder::nobody:
            if (look == PortLook::quick) break;
            if (status.other_ports.empty()) {
                set_trouble({});
                break;
            }
            set_trouble({.cause = LaneCause::other_port,
                         .told = fmt::format(
                             "its worker listens on port {}, but not yet on its {{port}}, {}",
                             fmt::join(status.other_ports, ", "), port_)});
            break;
    }
    look_later();
}

void StartedWorker::set_stranger(const PortStatus& status) {
    const std::string place = port_ == 0 ? "socket" : fmt::format("port {}", port_);
    set_trouble(
        {.cause = LaneCause::port_taken,
         .told = fmt::format("{} listens on its {}, but its worker did not start that process",
                             status.stranger, place)});
}

/// Uses only this protocol, because another program may listen on the same port with the other one.
void StartedWorker::set_destination(PortStatus::Protocol protocol) {
    const bool is_v4 = protocol == PortStatus::Protocol::ipv4;
    destination_.endpoints = {
        is_v4 ? asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), port_)
              : asio::ip::tcp::endpoint(asio::ip::address_v6::loopback(), port_)};
    setup_.host = fmt::format("{}:{}", is_v4 ? "127.0.0.1" : "[::1]", port_);
    started_listening();
}

void StartedWorker::started_listening() {
    listens_at_ = deps_.clock.now();
    facts().start.listen = listens_at_ - process_.started_at();
    set_trouble({});
    poll_health();
}

void StartedWorker::came_up() {
    facts().start.load = deps_.clock.now() - listens_at_;
    process_.came_up();
}

void StartedWorker::process_printed() {
    if (state_ != State::coming) return;
    facts().last_line = process_.output().log().last_line();
    // Servers also log our health checks, which are not progress.
    const bool is_echo =
        listens_at_ != never && facts().last_line.contains(setup_.pool.health_path);
    if (!is_echo) process_.progressed();
}

// ── trouble ──────────────────────────────────────────────────────────────────────────────────────

/// Reports the broken link after a moment. It may be the first sign that the worker died, and then
/// the cause is known soon.
void StartedWorker::link_broke(const std::function<void()>& report) {
    process_.after(exit_delay, [this, report] {
        if (state_ == State::up) report();
    });
}

CheckedDialer::Eyes StartedWorker::eyes() {
    return {.listener = [this](const StreamEndpoint& endpoint,
                               const Transport& made) -> std::optional<ListenerId> {
                if (port_ != 0) return process_deps_.listener_at(endpoint);
                const auto maker = made.listener_process();
                if (!maker) return std::nullopt;
                return ListenerId{.number = static_cast<std::uint64_t>(maker->pid),
                                  .owner = maker->user};
            },
            .look =
                [this](std::optional<ListenerId> listener,
                       const std::function<void(const PortStatus&)>& then) {
                    look_at_listener(listener, then);
                }};
}

/// Finds out whose listener took a connection. Only sockets with a path are told apart by `listener`.
void StartedWorker::look_at_listener(std::optional<ListenerId> listener,
                                     const std::function<void(const PortStatus&)>& then) {
    process_deps_.process_table.run(
        [look_at_port = process_deps_.look_at_port, look_at_socket = process_deps_.look_at_socket,
         port = port_, guard = process_.guard(), listener = listener.value_or(ListenerId{})] {
            return port != 0 ? look_at_port(port, guard, PortLook::quick)
                             : look_at_socket(listener, guard);
        },
        lifeline_.bind([this, then](const PortStatus& status) {
            if (status.holder == PortStatus::Holder::stranger) set_stranger(status);
            then(status);
        }));
}

void StartedWorker::proof_broke(std::uint32_t number) {
    link_broke(
        [this, number] { deps_.deliver(ProofEnded{worker_, number, ProofVerdict::failed}); });
}

void StartedWorker::process_gone() {
    if (!socket_path_.empty()) ::unlink(socket_path_.c_str());
    process_deps_.ports.erase(port_);
}

}  // namespace turnpike
