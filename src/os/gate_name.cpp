#include "os/gate_name.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "os/command_line.h"
#include "os/process.h"
#include "os/shortage.h"

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

/// A listening socket as /proc/net/unix lists it.
struct ListedSocket {
    std::string name;  // "@turnpike/…"
    std::string link;  // what a descriptor of it links to: "socket:[4711]"
};

/// Reads lines such as "…: 00000002 00000000 00010000 0001 01 4711 @turnpike/…". Connections to a gate
/// have lines of their own, which end the same, but do not listen.
std::vector<ListedSocket> listening_sockets() {
    constexpr std::string_view listens = "00010000";  // the flag __SO_ACCEPTCON
    std::vector<ListedSocket> found;
    std::ifstream table("/proc/net/unix");
    for (std::string line; std::getline(table, line);) {
        std::istringstream words(line);
        std::string number, references, protocol, flags, type, state, inode, name;
        words >> number >> references >> protocol >> flags >> type >> state >> inode;
        std::getline(words >> std::ws, name);
        if (flags == listens && name.starts_with(prefix_of_user()))
            found.push_back({.name = name, .link = "socket:[" + inode + ']'});
    }
    std::ranges::sort(found, {}, &ListedSocket::name);
    return found;
}

/// True if the process belongs to this user and has the socket open.
bool holds(const ProcessId& process, std::string_view link) {
    namespace fs = std::filesystem;
    const std::string folder = "/proc/" + std::to_string(process.pid);
    struct stat facts{};
    if (::stat(folder.c_str(), &facts) != 0 || facts.st_uid != ::geteuid()) return false;
    std::error_code error;
    for (fs::directory_iterator at(folder + "/fd", error), end; !error && at != end;
         at.increment(error)) {
        std::error_code is_closed;
        if (fs::read_symlink(at->path(), is_closed) == link) return true;
    }
    return false;
}

/// Returns the process of this user that has the socket open; if there are several, the oldest.
std::optional<pid_t> holder_of(std::string_view link) {
    std::optional<ProcessId> oldest;
    for (const ProcessFacts& process : list_processes())
        if ((!oldest || process.id.start < oldest->start) && holds(process.id, link))
            oldest = process.id;
    return oldest ? std::optional(oldest->pid) : std::nullopt;
}

/// Returns the process of this user that listens there. A gate that is stopped, or that has too much to
/// do, accepts no connection when its queue is full; it lives nevertheless, and so does one that we
/// can't ask for want of descriptors.
std::optional<pid_t> process_behind(const ListedSocket& socket) {
    if (const UniqueFd connection = connect_unix(socket.name)) return listener_of(connection.get());
    const bool is_there = errno == EAGAIN || shortage_behind(errno) != Shortage::none;
    return is_there ? holder_of(socket.link) : std::nullopt;
}

/// Returns the gate that listens at this abstract name.
std::optional<NamedGate> gate_at(const ListedSocket& socket) {
    const std::string rest = socket.name.substr(prefix_of_user().size());
    const std::size_t slash = rest.find('/');
    if (slash == std::string::npos) return std::nullopt;
    const auto pid = process_behind(socket);
    if (!pid) return std::nullopt;
    return NamedGate{.root = rest.substr(0, slash),
                     .name = rest.substr(slash + 1),
                     .socket = socket.name,
                     .pid = *pid};
}

}  // namespace

std::string abstract_name(std::string_view root, std::string_view gate) {
    return prefix_of_user() + hash_of(root) + '/' + std::string(gate);
}

std::vector<NamedGate> named_gates() {
    std::vector<NamedGate> gates;
    for (const ListedSocket& socket : listening_sockets())
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
