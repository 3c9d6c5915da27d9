// A transport over a stream socket: TCP or a Unix socket. Opens connections, too.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include "os/transport.h"

namespace turnpike {

// Sockets that know that their executor is an io_context. Asio's own typedefs find it out in every
// operation.
template <class Protocol>
using SocketOf = boost::asio::basic_stream_socket<Protocol, boost::asio::io_context::executor_type>;
template <class Protocol>
using AcceptorOf =
    boost::asio::basic_socket_acceptor<Protocol, boost::asio::io_context::executor_type>;

using StreamSocket = SocketOf<boost::asio::generic::stream_protocol>;
using StreamEndpoint = boost::asio::generic::stream_protocol::endpoint;

/// Makes a transport of a connected socket.
[[nodiscard]] TransportPtr make_transport(StreamSocket socket);

enum class ConnectFailure : std::uint8_t {
    refused,   // nothing listens there
    failed,    // no connection could be made
    stranger,  // another program listens there (supervisor/http/checked_dialer)
    shortage,  // we have no descriptor or memory for one
    no_port,   // no port of this machine is left for one
};

using Connected = std::expected<TransportPtr, ConnectFailure>;

/// Opens connections.
class Dialer {
public:
    /// A connection that is being made. To give it up, destroy it.
    class Call {
    public:
        virtual ~Call() = default;
    };

    virtual ~Dialer() = default;
    /// Calls `then` from the loop, at most once, and never after the call is destroyed. `then` may
    /// destroy the call.
    [[nodiscard]] virtual std::unique_ptr<Call> dial(
        const StreamEndpoint& endpoint, std::move_only_function<void(Connected)> then) = 0;
};

class SocketDialer final : public Dialer {
public:
    explicit SocketDialer(boost::asio::io_context& loop) : loop_(loop) {}
    [[nodiscard]] std::unique_ptr<Call> dial(
        const StreamEndpoint& endpoint, std::move_only_function<void(Connected)> then) override;

private:
    boost::asio::io_context& loop_;
};

}  // namespace turnpike
