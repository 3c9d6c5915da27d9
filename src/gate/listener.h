// Accepts connections for the gate: on TCP, and on the Unix socket of the command line.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "base/lifeline.h"
#include "config/config.h"
#include "os/socket_transport.h"

namespace turnpike {

class Gate;

class Listener {
public:
    explicit Listener(boost::asio::io_context& loop);
    ~Listener();

    /// Binds every address of the host. Port 0 means any free port. Returns the address with the
    /// port.
    [[nodiscard]] std::expected<Address, std::string> bind(const Address& address);
    /// Binds a socket with mode 0600, and replaces any file at that path.
    [[nodiscard]] std::expected<void, std::string> bind_unix(const std::string& path);

    void start(Gate& gate);
    /// Accepts no more TCP clients. The command line can still connect.
    void stop_tcp();

private:
    void accept_tcp(std::size_t which);
    void accept_unix();
    void retry_later(std::function<void()> then);

    boost::asio::io_context& loop_;
    std::vector<AcceptorOf<boost::asio::ip::tcp>> tcp_;
    AcceptorOf<boost::asio::local::stream_protocol> unix_;
    Gate* gate_ = nullptr;
    Lifeline lifeline_;
};

}  // namespace turnpike
