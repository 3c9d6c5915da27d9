#include "gate/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>

#include "gate/gate.h"
#include "os/command_line.h"
#include "os/shortage.h"
#include "os/socket_transport.h"

namespace turnpike {

namespace asio = boost::asio;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;
using boost::system::error_code;

namespace {

constexpr std::chrono::milliseconds retry_delay{50};  // before accepting again

/// How many bytes may wait in a send buffer for the client's window. Beyond that an answer waits with
/// us, where it is counted; otherwise each slow reader has 4 MiB of the kernel's memory. What is on
/// its way is not limited by this.
constexpr int not_sent_max = 256 * 1024;

std::string text_of(const tcp::endpoint& endpoint) {
    const std::string address = endpoint.address().to_string();
    const bool is_v6 = endpoint.address().is_v6();
    return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", address, is_v6 ? "]" : "", endpoint.port());
}

std::string bind_error(const tcp::endpoint& endpoint, error_code error) {
    if (error == asio::error::address_in_use)
        return fmt::format(
            "{} is taken by another program; choose another with --port, or --port 0 "
            "for any free one",
            text_of(endpoint));
    return fmt::format("can't listen on {}: {}", text_of(endpoint), error.message());
}

/// True if the peer runs as our own user or as root.
bool is_trusted_peer(int socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
    return peer.uid == ::geteuid() || peer.uid == 0;
}

/// Tells our command line from a proxy, or any other program that uses the Unix socket.
Peer peer_behind(int unix_socket) {
    if (is_command_line(unix_socket))
        return {.entrance = Entrance::command_line, .address = {}, .text = "command line"};
    return {.entrance = Entrance::unix_socket, .address = "unix socket", .text = "unix socket"};
}

}  // namespace

Listener::Listener(asio::io_context& loop) : loop_(loop) {}
Listener::~Listener() = default;

std::expected<Address, std::string> Listener::bind(const Address& address) {
    error_code error;
    tcp::resolver resolver(loop_);
    const auto found =
        resolver.resolve(address.host, std::to_string(address.port), tcp::resolver::passive, error);
    if (error)
        return std::unexpected(
            fmt::format("can't listen on {}: {}", address.host, error.message()));
    std::uint16_t port = address.port;
    std::string problem;
    for (const auto& entry : found) {
        tcp::endpoint endpoint = entry.endpoint();
        endpoint.port(port);
        AcceptorOf<tcp> acceptor(loop_);
        acceptor.open(endpoint.protocol(), error);
        if (error) {  // for example a machine without IPv6
            problem = bind_error(endpoint, error);
            continue;
        }
        acceptor.set_option(tcp::acceptor::reuse_address(true), error);
        if (endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(true), error);
        acceptor.bind(endpoint, error);
        if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
        if (error) {
            problem = bind_error(endpoint, error);
            if (error == asio::error::address_in_use) return std::unexpected(problem);
            continue;
        }
        port = acceptor.local_endpoint().port();
        tcp_.push_back(std::move(acceptor));
    }
    if (tcp_.empty()) return std::unexpected(problem);
    return Address{.host = address.host, .port = port};
}

std::expected<void, std::string> Listener::bind_unix(const std::string& path) {
    error_code error;
    ::unlink(path.c_str());
    const auto fresh = std::make_shared<UnixAcceptor>(loop_);
    fresh->open(Local(), error);
    if (!error) fresh->bind(Local::endpoint(path), error);
    if (!error && ::chmod(path.c_str(), 0600) != 0)
        error.assign(errno, boost::system::system_category());
    if (!error) fresh->listen(asio::socket_base::max_listen_connections, error);
    if (error) return std::unexpected(fmt::format("can't listen on {}: {}", path, error.message()));
    if (unix_ != nullptr) unix_->close(error);
    unix_ = fresh;
    socket_file_ = socket_file_at(path);
    if (gate_ != nullptr) accept_unix(unix_);
    return {};
}

bool Listener::has_socket_file() const { return socket_file_ == socket_file_at(socket_file_.path); }

Listener::SocketFile Listener::socket_file_at(const std::string& path) {
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)) return {};
    return {.path = path, .device = found.st_dev, .inode = found.st_ino};
}

void Listener::adopt_unix(UniqueFd socket) {
    error_code error;
    adopted_ = std::make_shared<UnixAcceptor>(loop_);
    adopted_->assign(Local(), socket.get(), error);
    if (error) return adopted_.reset();
    std::ignore = socket.release();
    if (gate_ != nullptr) accept_unix(adopted_);
}

void Listener::start(Gate& gate) {
    gate_ = &gate;
    for (std::size_t i = 0; i < tcp_.size(); ++i) accept_tcp(i);
    for (const auto& acceptor : {unix_, adopted_})
        if (acceptor != nullptr) accept_unix(acceptor);
}

void Listener::stop_tcp() {
    for (AcceptorOf<tcp>& acceptor : tcp_) {
        error_code ignored;
        acceptor.close(ignored);
    }
}

void Listener::accept_tcp(std::size_t which) {
    if (!gate_->has_room()) return retry_later([this, which] { accept_tcp(which); });
    tcp_[which].async_accept([this, which](error_code error, SocketOf<tcp> socket) {
        if (error == asio::error::operation_aborted || !tcp_[which].is_open()) return;
        if (error) return retry_after(error, [this, which] { accept_tcp(which); });
        error_code is_gone;
        error_code ignored;
        const tcp::endpoint peer = socket.remote_endpoint(is_gone);
        socket.set_option(tcp::no_delay(true), ignored);
        ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &not_sent_max,
                     sizeof not_sent_max);
        socket.non_blocking(true, ignored);
        if (!is_gone)
            gate_->add_connection(make_transport(StreamSocket(std::move(socket))),
                                  {.entrance = Entrance::tcp,
                                   .address = peer.address().to_string(),
                                   .text = text_of(peer)});
        accept_tcp(which);
    });
}

void Listener::accept_unix(const std::shared_ptr<UnixAcceptor>& acceptor) {
    acceptor->async_accept([this, acceptor](error_code error, SocketOf<Local> socket) {
        if (error == asio::error::operation_aborted || !acceptor->is_open()) return;
        if (error) return retry_after(error, [this, acceptor] { accept_unix(acceptor); });
        error_code failed;
        socket.non_blocking(true, failed);
        if (!failed && is_trusted_peer(socket.native_handle())) {
            Peer peer = peer_behind(socket.native_handle());
            gate_->add_connection(make_transport(StreamSocket(std::move(socket))), std::move(peer));
        }
        accept_unix(acceptor);
    });
}

/// Calls `then` after a while. If we may open no more files, a client makes room meanwhile.
void Listener::retry_after(error_code error, std::function<void()> then) {
    if (shortage_behind(error.value()) != Shortage::none) gate_->push_one_out();
    retry_later(std::move(then));
}

/// Calls `then` after a while. Needed if an accept failed, or if too many connections are busy. New
/// clients wait in the kernel's queue meanwhile.
void Listener::retry_later(std::function<void()> then) {
    const auto timer = std::make_shared<asio::steady_timer>(loop_, retry_delay);
    timer->async_wait(lifeline_.bind([timer, then = std::move(then)](error_code error) {
        if (!error) then();
    }));
}

}  // namespace turnpike
