#include "os/socket_transport.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/check.h"
#include "os/file.h"
#include "os/send.h"
#include "os/shortage.h"

namespace turnpike {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// The loop may still hold callbacks after close(), so callbacks own this state; `user` is nullptr
/// then.
struct SocketState {
    explicit SocketState(StreamSocket of) : socket(std::move(of)) {}

    StreamSocket socket;
    TransportUser* user = nullptr;
};

class SocketTransport final : public Transport {
public:
    explicit SocketTransport(StreamSocket socket)
        : state_(std::make_shared<SocketState>(std::move(socket))) {}
    ~SocketTransport() override { close(); }
    SocketTransport(const SocketTransport&) = delete;
    SocketTransport& operator=(const SocketTransport&) = delete;

    void set_user(TransportUser& user) override { state_->user = &user; }

    void read(std::span<char> into) override {
        CHECK(!into.empty());
        state_->socket.async_read_some(asio::buffer(into.data(), into.size()),
                                       [state = state_](error_code error, std::size_t size) {
                                           if (state->user == nullptr) return;
                                           if (!error) return state->user->bytes_came(size);
                                           state->user->input_ended(error == asio::error::eof
                                                                        ? InputEnd::clean
                                                                        : InputEnd::broken);
                                       });
    }

    void await_input() override {
        state_->socket.async_wait(asio::socket_base::wait_read, [state = state_](error_code error) {
            if (!error && state->user != nullptr) state->user->input_waits();
        });
    }

    [[nodiscard]] Unread unread() const override {
        char byte = 0;
        const ssize_t size = ::recv(handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        if (size > 0) return Unread::bytes;
        const bool is_open = size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
        return is_open ? Unread::nothing : Unread::end;
    }

    [[nodiscard]] bool has_hung_up() const override {
        pollfd peer{.fd = handle(), .events = POLLRDHUP, .revents = 0};
        return ::poll(&peer, 1, 0) > 0;
    }

    [[nodiscard]] std::optional<ListenerProcess> listener_process() const override {
        sockaddr_storage address{};
        socklen_t size = sizeof address;
        const bool is_unix =
            ::getpeername(handle(), reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
            address.ss_family == AF_UNIX;
        ucred maker{};
        size = sizeof maker;
        if (!is_unix || ::getsockopt(handle(), SOL_SOCKET, SO_PEERCRED, &maker, &size) != 0)
            return std::nullopt;
        return ListenerProcess{.pid = maker.pid, .user = maker.uid};
    }

    [[nodiscard]] std::expected<std::size_t, Unwritten> write(std::string_view first,
                                                              std::string_view second) override {
        const ssize_t sent = send_some(handle(), first, second);
        if (sent >= 0) return static_cast<std::size_t>(sent);
        return std::unexpected(errno == EAGAIN ? Unwritten::full : Unwritten::gone);
    }

    void await_writable() override {
        state_->socket.async_wait(asio::socket_base::wait_write,
                                  [state = state_](error_code error) {
                                      if (!error && state->user != nullptr)
                                          state->user->can_write();
                                  });
    }

    [[nodiscard]] std::size_t unsent() const override {
        int bytes = 0;
        return ::ioctl(handle(), SIOCOUTQ, &bytes) == 0 && bytes > 0
                   ? static_cast<std::size_t>(bytes)
                   : 0;
    }

    [[nodiscard]] bool is_dead() const override {
        pollfd peer{.fd = handle(), .events = 0, .revents = 0};
        return ::poll(&peer, 1, 0) > 0;
    }

    void end_output() override {
        error_code ignored;
        state_->socket.shutdown(StreamSocket::shutdown_send, ignored);
    }

    void close() override {
        state_->user = nullptr;
        error_code ignored;
        state_->socket.close(ignored);
    }

private:
    [[nodiscard]] int handle() const { return state_->socket.native_handle(); }

    std::shared_ptr<SocketState> state_;
};

/// Owned by the callback, too, since the loop may still hold it after the call was given up.
struct CallState {
    explicit CallState(asio::io_context& loop) : socket(loop) {}

    StreamSocket socket;
    std::move_only_function<void(Connected)> then;
};

class SocketCall final : public Dialer::Call {
public:
    explicit SocketCall(std::shared_ptr<CallState> state) : state_(std::move(state)) {}
    ~SocketCall() override {
        state_->then = nullptr;
        error_code ignored;
        state_->socket.close(ignored);
    }
    SocketCall(const SocketCall&) = delete;
    SocketCall& operator=(const SocketCall&) = delete;

private:
    std::shared_ptr<CallState> state_;
};

/// True if this machine has an address from which the endpoint can be reached. A machine without
/// IPv6 has none for `::1`. Connecting a datagram socket sends nothing and needs no TCP port.
bool has_address_for(const StreamEndpoint& endpoint) {
    const UniqueFd probe(
        ::socket(endpoint.data()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe) return true;
    return ::connect(probe.get(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) == 0 ||
           errno != EADDRNOTAVAIL;
}

ConnectFailure failure_of(error_code error, const StreamEndpoint& endpoint) {
    if (error == asio::error::connection_refused) return ConnectFailure::refused;
    if (error.category() != boost::system::system_category()) return ConnectFailure::failed;
    switch (shortage_behind_connect(error.value())) {
        case Shortage::none: return ConnectFailure::failed;
        case Shortage::ports:
            return has_address_for(endpoint) ? ConnectFailure::no_port : ConnectFailure::failed;
        case Shortage::descriptors:
        case Shortage::files_of_machine:
        case Shortage::memory:
        case Shortage::disk:
        case Shortage::processes: return ConnectFailure::shortage;
    }
    return ConnectFailure::failed;
}

Connected connected(StreamSocket& socket, const StreamEndpoint& endpoint, error_code error) {
    if (error) return std::unexpected(failure_of(error, endpoint));
    error_code ignored;
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);  // fails on a Unix socket
    socket.non_blocking(true, ignored);
    return make_transport(std::move(socket));
}

}  // namespace

TransportPtr make_transport(StreamSocket socket) {
    return std::make_unique<SocketTransport>(std::move(socket));
}

std::unique_ptr<Dialer::Call> SocketDialer::dial(const StreamEndpoint& endpoint,
                                                 std::move_only_function<void(Connected)> then) {
    const auto state = std::make_shared<CallState>(loop_);
    state->then = std::move(then);
    state->socket.async_connect(endpoint, [state, endpoint](error_code error) {
        if (state->then == nullptr) return;
        std::exchange(state->then, nullptr)(connected(state->socket, endpoint, error));
    });
    return std::make_unique<SocketCall>(state);
}

}  // namespace turnpike
