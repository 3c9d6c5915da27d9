// TCP ports for workers, and who listens on them.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <expected>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "os/shortage.h"

namespace turnpike {

/// Returns a port on which nobody listens, outside the range from which the system takes ports for
/// connections. The port is not reserved: look_at_port() shows if another process takes it first.
/// The error is the shortage that keeps us from looking, or Shortage::ports if no port is free.
[[nodiscard]] std::expected<std::uint16_t, Shortage> choose_port(
    const std::set<std::uint16_t>& except, std::uint64_t random);

/// A listening socket. Two with the same number and owner are the same one.
struct ListenerId {
    std::uint64_t number = 0;  // the inode; for a Unix socket the pid of the process that made it
    uid_t owner = 0;           // the user of the process that made it
    friend auto operator<=>(const ListenerId&, const ListenerId&) = default;
};

struct PortStatus {
    enum class Holder : std::uint8_t {
        nobody,
        tree,
        stranger,
        unknown,  // a shortage of ours kept us from some of the files that would tell
    };
    enum class Protocol : std::uint8_t { ipv4, ipv6 };
    Holder holder = Holder::nobody;
    Shortage shortage = Shortage::none;      // if unknown
    Protocol protocol = Protocol::ipv4;      // if tree: how to reach it; IPv4 if both work
    bool is_exposed = false;                 // if tree: other machines can reach it
    std::vector<ListenerId> listeners;       // if tree: all that the tree has on the port
    std::string stranger;                    // if stranger: "nginx (pid 812)", or "another process"
    std::vector<std::uint16_t> other_ports;  // if nobody: where the tree listens instead
};

enum class PortLook : std::uint8_t {
    quick,     // searches processes only if somebody listens on the port
    thorough,  // also finds the other ports on which the tree listens
};

/// Returns who listens on the port: a process below `root` (the tree), another process (a
/// stranger), or nobody. Slow.
[[nodiscard]] PortStatus look_at_port(std::uint16_t port, pid_t root, PortLook look);
using LookAtPort = std::function<PortStatus(std::uint16_t port, pid_t root, PortLook look)>;

/// Returns the same for the listener of a Unix socket. It belongs to the tree if the tree has the
/// process that made it. If that process is gone, it belongs to the tree if one of its users made it.
[[nodiscard]] PortStatus look_at_socket(const ListenerId& listener, pid_t root);
using LookAtSocket = std::function<PortStatus(const ListenerId& listener, pid_t root)>;

}  // namespace turnpike
