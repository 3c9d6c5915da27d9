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

#include "config/config.h"

namespace turnpike {

class Gate;

class Listener {
public:
    explicit Listener(boost::asio::io_context& loop);
    ~Listener();

    /// Binds every address of that name; with port 0 any free port, which is then in the result.
    [[nodiscard]] std::expected<Address, std::string> bind(const Address& address);
    /// 0600; whatever stood at that path goes.
    [[nodiscard]] std::expected<void, std::string> bind_unix(const std::string& path);

    void start(Gate& gate);
    /// No new clients. The command line is still let in.
    void stop_tcp();

private:
    void accept_tcp(std::size_t which);
    void accept_unix();
    void retry_later(std::function<void()> then);

    boost::asio::io_context& loop_;
    std::vector<boost::asio::ip::tcp::acceptor> tcp_;
    boost::asio::local::stream_protocol::acceptor unix_;
    Gate* gate_ = nullptr;
};

}  // namespace turnpike
