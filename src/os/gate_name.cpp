#include "os/gate_name.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "os/command_line.h"

namespace turnpike {
namespace {

constexpr int backlog = 64;

struct UnixAddress {
    sockaddr_un address{};
    socklen_t size = 0;
};

/// Returns nullopt if the address is too long.
std::optional<UnixAddress> unix_address(std::string_view text) {
    UnixAddress made;
    made.address.sun_family = AF_UNIX;
    if (text.empty() || text.size() >= sizeof made.address.sun_path) return std::nullopt;
    text.copy(made.address.sun_path, text.size());
    const bool is_abstract = text.front() == '@';
    if (is_abstract) made.address.sun_path[0] = '\0';
    made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size() +
                                       (is_abstract ? 0 : 1));
    return made;
}

const sockaddr* raw(const UnixAddress& made) {
    return reinterpret_cast<const sockaddr*>(&made.address);
}

/// Returns a number that stays the same from version to version (FNV-1a).
std::uint64_t stable_hash(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
}

std::string prefix_of_user() { return "@turnpike/" + std::to_string(::geteuid()) + '/'; }

std::string hash_of(std::string_view root) {
    std::string path = std::filesystem::path(root).lexically_normal().string();
    std::array<char, 20> text{};
    std::snprintf(text.data(), text.size(), "%016" PRIx64, stable_hash(path));
    return text.data();
}

/// Returns the gate that listens at this abstract name.
std::optional<NamedGate> gate_at(const std::string& socket) {
    const std::string rest = socket.substr(prefix_of_user().size());
    const std::size_t slash = rest.find('/');
    if (slash == std::string::npos) return std::nullopt;
    const UniqueFd connection = connect_unix(socket);
    const auto pid = connection ? listener_of(connection.get()) : std::nullopt;
    if (!pid) return std::nullopt;
    return NamedGate{.root = rest.substr(0, slash),
                     .name = rest.substr(slash + 1),
                     .socket = socket,
                     .pid = *pid};
}

}  // namespace

std::string abstract_name(std::string_view root, std::string_view gate) {
    return prefix_of_user() + hash_of(root) + '/' + std::string(gate);
}

std::vector<NamedGate> named_gates() {
    std::vector<std::string> sockets;
    std::ifstream table("/proc/net/unix");
    for (std::string line; std::getline(table, line);)
        if (const std::size_t at = line.find(prefix_of_user()); at != std::string::npos)
            sockets.push_back(line.substr(at));
    std::ranges::sort(sockets);  // connections to a gate have lines of their own
    const auto [first, last] = std::ranges::unique(sockets);
    sockets.erase(first, last);
    std::vector<NamedGate> gates;
    for (const std::string& socket : sockets)
        if (auto gate = gate_at(socket)) gates.push_back(*std::move(gate));
    return gates;
}

std::vector<NamedGate> named_gates(std::string_view root) {
    std::vector<NamedGate> gates = named_gates();
    std::erase_if(gates,
                  [hash = hash_of(root)](const NamedGate& gate) { return gate.root != hash; });
    return gates;
}

UniqueFd take_abstract_name(const std::string& name) {
    const auto address = unix_address(name);
    if (!address) return {};
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket || ::bind(socket.get(), raw(*address), address->size) != 0 ||
        ::listen(socket.get(), backlog) != 0)
        return {};
    return socket;
}

UniqueFd connect_unix(std::string_view text) {
    const auto address = unix_address(text);
    if (!address) {
        errno = ENAMETOOLONG;
        return {};
    }
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // A Unix socket connects at once or not at all: if the backlog is full, connect() does not wait.
    if (!socket || !name_as_command_line(socket.get()) ||
        ::connect(socket.get(), raw(*address), address->size) != 0)
        return {};
    if (text.front() != '@' || listener_of(socket.get())) return socket;
    errno = EACCES;
    return {};
}

std::optional<pid_t> listener_of(int connected) {
    ucred peer{};
    socklen_t size = sizeof peer;
    const bool is_known = ::getsockopt(connected, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    return is_known && peer.uid == ::geteuid() ? std::optional(peer.pid) : std::nullopt;
}

}  // namespace turnpike
