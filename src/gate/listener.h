// Accepts connections for the gate: on TCP, and on the Unix socket, which the command line uses, and
// maybe a proxy of the same user.
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
#include "os/file.h"
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
    /// Binds a socket with mode 0600, and replaces any file at that path. May be called again if
    /// the file is gone (has_socket_file()).
    [[nodiscard]] std::expected<void, std::string> bind_unix(const std::string& path);
    /// True if the path that was bound last still leads to this listener.
    [[nodiscard]] bool has_socket_file() const;
    /// Also serves a Unix socket that listens already.
    void adopt_unix(UniqueFd socket);

    void start(Gate& gate);
    /// Accepts no more TCP clients. The command line can still connect.
    void stop_tcp();

private:
    void accept_tcp(std::size_t which);
    using UnixAcceptor = AcceptorOf<boost::asio::local::stream_protocol>;
    /// Identifies the file of the socket.
    struct SocketFile {
        std::string path;
        std::uint64_t device = 0;
        std::uint64_t inode = 0;
        friend bool operator==(const SocketFile&, const SocketFile&) = default;
    };
    [[nodiscard]] static SocketFile socket_file_at(const std::string& path);

    void accept_unix(const std::shared_ptr<UnixAcceptor>& acceptor);
    void retry_after(boost::system::error_code error, std::function<void()> then);
    void retry_later(std::function<void()> then);

    boost::asio::io_context& loop_;
    std::vector<AcceptorOf<boost::asio::ip::tcp>> tcp_;
    std::shared_ptr<UnixAcceptor> unix_;     // by path; nullptr before bind_unix()
    std::shared_ptr<UnixAcceptor> adopted_;  // nullptr if none was adopted
    SocketFile socket_file_;
    Gate* gate_ = nullptr;
    Lifeline lifeline_;
};

}  // namespace turnpike
