// The seam between what moves bytes and what gives them meaning: one connection, to a client or to
// a worker. The real one is a socket (SocketTransport); a test's one is a pair of strings, and TLS or
// a simulated network can stand here too.
//
// A transport calls its user from the loop only, never from within a call of the user, and never
// after close(). So a user sees the same state from the first line of a function to its last.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace turnpike {

enum class InputEnd : std::uint8_t {
    clean,   // the peer has sent all that it wanted to send
    broken,  // the connection failed
};

class TransportUser {
public:
    /// Called after read(), when this many bytes are in the buffer.
    virtual void bytes_came(std::size_t size) = 0;
    /// Called instead of bytes_came(), if no more bytes will come.
    virtual void input_ended(InputEnd how) = 0;
    /// Called after await_writable().
    virtual void can_write() = 0;
    /// Called after await_input(): something can be read, maybe only the end.
    virtual void input_waits() {}

protected:
    ~TransportUser() = default;
};

/// What can be read now.
enum class Unread : std::uint8_t {
    nothing,
    bytes,
    end,  // no more bytes will come
};

/// The process that made the listener of a Unix socket, and its user.
struct ListenerProcess {
    pid_t pid = 0;
    uid_t user = 0;
    friend bool operator==(const ListenerProcess&, const ListenerProcess&) = default;
};

/// Why write() took nothing.
enum class Unwritten : std::uint8_t {
    full,  // call await_writable()
    gone,  // the peer is gone, or does not read any more
};

class Transport {
public:
    virtual ~Transport() = default;

    /// Must be called before anything else. The user must outlive the transport, or close it first.
    virtual void set_user(TransportUser& user) = 0;

    /// Reads some bytes into the buffer, which must stay until the user is called. Must not be called
    /// while a read is under way.
    virtual void read(std::span<char> into) = 0;
    /// Waits until something can be read, but reads nothing. Must not be called while a read or
    /// another such wait is under way.
    virtual void await_input() = 0;
    [[nodiscard]] virtual Unread unread() const = 0;
    /// True if nothing can be read now, not even the end.
    [[nodiscard]] bool is_quiet() const { return unread() == Unread::nothing; }
    /// True if the peer has closed its side, even if bytes that it sent before are still unread.
    [[nodiscard]] virtual bool has_hung_up() const = 0;

    /// Returns whose listener took this connection. Nullopt unless we connected to a Unix socket.
    [[nodiscard]] virtual std::optional<ListenerProcess> listener_process() const = 0;

    /// Writes `first`, then `second`, as far as there is room now. Returns how many bytes were taken.
    [[nodiscard]] virtual std::expected<std::size_t, Unwritten> write(std::string_view first,
                                                                      std::string_view second) = 0;
    /// Must not be called while another such wait is under way.
    virtual void await_writable() = 0;
    /// Returns how many bytes were written that the peer has not taken yet. (For a Unix socket, up to
    /// the kernel's own cost of storing them more.)
    [[nodiscard]] virtual std::size_t unsent() const = 0;
    /// True if the peer can't take anything any more.
    [[nodiscard]] virtual bool is_dead() const = 0;
    /// Tells the peer that nothing more will be written.
    virtual void end_output() = 0;

    virtual void close() = 0;
};

using TransportPtr = std::unique_ptr<Transport>;

}  // namespace turnpike
