// TCP ports for workers, and who listens on them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace turnpike {

/// A port on which nobody listens, outside of the range from which the system takes ports for
/// connections. Nobody holds it for us: whoever takes it in between is found by look_at_port().
/// Nothing: none is free.
[[nodiscard]] std::optional<std::uint16_t> choose_port(const std::set<std::uint16_t>& except,
                                                       std::uint64_t random);

struct PortStatus {
    enum class Holder : std::uint8_t { nobody, tree, stranger };
    enum class Protocol : std::uint8_t { ipv4, ipv6 };
    Holder holder = Holder::nobody;
    Protocol protocol = Protocol::ipv4;      // with tree: by which it is reached; v4 if by both
    bool is_exposed = false;                 // with tree: to other machines
    std::string stranger;                    // "nginx (pid 812)"; "another process" if it is hidden
    std::vector<std::uint16_t> other_ports;  // with nobody: where the tree listens otherwise
};

enum class PortLook : std::uint8_t {
    quick,     // looks through processes only if somebody listens there
    thorough,  // also where the tree listens instead
};

/// Who listens on the port: a process below `root`, or somebody else? Slow.
[[nodiscard]] PortStatus look_at_port(std::uint16_t port, pid_t root, PortLook look);

}  // namespace turnpike
