#include "os/ports.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>

#include "base/leading_number.h"
#include "os/file.h"
#include "os/process.h"

namespace turnpike {
namespace {

using Inode = std::uint64_t;

using Protocol = PortStatus::Protocol;

struct Listener {
    Protocol protocol = Protocol::ipv4;
    std::uint16_t port = 0;
    Inode inode = 0;
    uid_t owner = 0;
    bool is_loopback = false;
    bool is_wildcard = false;
};

/// The ports to choose from. They are below the ports that the system takes for connections, or
/// above them if there are too few below.
struct Range {
    std::uint32_t first = 20000;
    std::uint32_t last = 32767;
};

Range port_range() {
    constexpr std::uint32_t room_min = 1000;
    Range range;
    std::uint32_t system_first = 32768;
    std::uint32_t system_last = 60999;
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> system_first >> system_last;
    range.last = std::min(range.last, system_first - 1);
    if (range.last < range.first + room_min && system_last + room_min <= 65535)
        return {.first = system_last + 1, .last = 65535};
    return {.first = std::min(range.first, range.last), .last = range.last};
}

using IsFree = std::expected<bool, Shortage>;

IsFree is_free_v4(std::uint16_t port) {
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (socket &&
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return true;
    const Shortage shortage = shortage_behind(errno);
    return shortage == Shortage::none ? IsFree(false) : std::unexpected(shortage);
}

/// True if the port is free for IPv6, also if this machine has no IPv6.
IsFree is_free_v6(std::uint16_t port) {
    const UniqueFd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int only = 1;
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    if (socket && ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only) == 0 &&
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return true;
    const Shortage shortage = shortage_behind(errno);
    return shortage == Shortage::none ? IsFree(errno != EADDRINUSE) : std::unexpected(shortage);
}

/// Reads files of /proc, and notes if a shortage of ours kept it from one. Then what it did not see
/// may be there nevertheless.
class ProcReader {
public:
    /// Returns an empty text if the file can't be read.
    std::string text(const std::string& path) {
        std::optional<std::string> text = read_file(path);
        if (!text) note(errno);
        return std::move(text).value_or("");
    }
    std::vector<ProcessFacts> processes() {
        auto listed = try_list_processes();
        if (listed) return *std::move(listed);
        shortage_ = listed.error();
        return {};
    }
    /// Must be called with errno after a failure.
    void note(int error) {
        if (shortage_ == Shortage::none) shortage_ = shortage_behind(error);
    }
    [[nodiscard]] bool is_short() const { return shortage_ != Shortage::none; }
    [[nodiscard]] PortStatus unknown() const {
        return {.holder = PortStatus::Holder::unknown, .shortage = shortage_};
    }

private:
    Shortage shortage_ = Shortage::none;
};

std::string_view next_word(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
    return word;
}

std::string_view next_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

/// `local` is an address of /proc/net/tcp. The kernel writes addresses as words in the machine's
/// byte order: 127.0.0.1 is 0100007F.
bool is_loopback(std::string_view local, Protocol protocol) {
    if (protocol == Protocol::ipv4) return local.substr(6).starts_with("7F:");
    const bool is_mapped = local.starts_with("0000000000000000FFFF0000");
    return local.starts_with("00000000000000000000000001000000:") ||
           (is_mapped && local.substr(30).starts_with("7F:"));
}

/// Reads lines such as "0: 0100007F:1F90 00000000:0000 0A …inode…"; 0A means LISTEN.
void append_listeners(std::string_view table, Protocol protocol, std::vector<Listener>& listeners) {
    next_line(table);
    while (!table.empty()) {
        std::string_view line = next_line(table);
        next_word(line);
        const std::string_view local = next_word(line);
        next_word(line);
        if (next_word(line) != "0A") continue;
        Listener listener{.protocol = protocol};
        const std::string_view port = local.substr(local.rfind(':') + 1);
        listener.is_loopback = is_loopback(local, protocol);
        listener.is_wildcard = local.find_first_not_of('0') == local.rfind(':');
        listener.port = leading_number<std::uint16_t>(port, 16);
        for (int i = 0; i < 3; ++i) next_word(line);  // queues, timers
        listener.owner = leading_number<uid_t>(next_word(line));
        next_word(line);
        listener.inode = leading_number<Inode>(next_word(line));
        listeners.push_back(listener);
    }
}

std::vector<Listener> all_listeners(ProcReader& proc) {
    std::vector<Listener> listeners;
    append_listeners(proc.text("/proc/net/tcp"), Protocol::ipv4, listeners);
    append_listeners(proc.text("/proc/net/tcp6"), Protocol::ipv6, listeners);
    return listeners;
}

/// Appends the sockets that a process has open. Returns false if we may not see them.
bool append_sockets(ProcReader& proc, pid_t pid, std::set<Inode>& sockets) {
    constexpr std::string_view prefix = "socket:[";
    const std::string path = "/proc/" + std::to_string(pid) + "/fd";
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
    if (!folder) proc.note(errno);
    while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
        std::array<char, 64> text{};
        const ssize_t size =
            ::readlink((path + '/' + entry->d_name).c_str(), text.data(), text.size());
        if (size < 0) proc.note(errno);
        if (size <= 0) continue;
        const std::string_view link(text.data(), static_cast<std::size_t>(size));
        if (!link.starts_with(prefix)) continue;
        if (const auto inode = leading_number<Inode>(link.substr(prefix.size())); inode != 0)
            sockets.insert(inode);
    }
    return folder != nullptr;
}

/// Returns the effective user of a process. Nullopt if the process is gone.
std::optional<uid_t> user_of(ProcReader& proc, pid_t pid) {
    std::string status = proc.text("/proc/" + std::to_string(pid) + "/status");
    std::ranges::replace(status, '\t', ' ');
    for (std::string_view left = status; !left.empty();) {
        std::string_view words = next_line(left);
        if (!words.starts_with("Uid:")) continue;
        next_word(words), next_word(words);  // skip "Uid:" and the real user
        return leading_number<uid_t>(next_word(words));
    }
    return std::nullopt;
}

/// The sockets of the processes of a tree.
struct Tree {
    std::set<Inode> sockets;
    std::set<uid_t> hidden;  // users of processes whose sockets we may not see (setcap, prctl)

    [[nodiscard]] bool has(const Listener& listener) const {
        return sockets.contains(listener.inode) || hidden.contains(listener.owner);
    }
};

Tree tree_of(ProcReader& proc, pid_t root, const std::vector<ProcessFacts>& all) {
    Tree tree;
    for (const ProcessFacts& process : descendants_of(root, all)) {
        if (append_sockets(proc, process.id.pid, tree.sockets)) continue;
        if (const auto user = user_of(proc, process.id.pid)) tree.hidden.insert(*user);
    }
    return tree;
}

/// Who listens on the port with one protocol.
struct Side {
    const Listener* ours = nullptr;
    const Listener* stranger = nullptr;

    [[nodiscard]] bool is_safe() const { return ours != nullptr && stranger == nullptr; }
};

std::string name_of(const ProcessFacts& process) {
    return process.name + " (pid " + std::to_string(process.id.pid) + ")";
}

std::string holder_of(Inode inode, const std::vector<ProcessFacts>& all) {
    ProcReader proc;  // of its own: a stranger is one even if we can't find its name
    for (const ProcessFacts& process : all) {
        std::set<Inode> sockets;
        append_sockets(proc, process.id.pid, sockets);
        if (sockets.contains(inode)) return name_of(process);
    }
    return "another process";
}

}  // namespace

std::expected<std::uint16_t, Shortage> choose_port(const std::set<std::uint16_t>& except,
                                                   std::uint64_t random) {
    const Range range = port_range();
    const std::uint64_t count = range.last - range.first + 1;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto port = static_cast<std::uint16_t>(range.first + (random + i) % count);
        if (except.contains(port)) continue;
        const IsFree v4 = is_free_v4(port);
        const IsFree is_free = v4 && *v4 ? is_free_v6(port) : v4;
        if (!is_free) return std::unexpected(is_free.error());
        if (*is_free) return port;
    }
    return std::unexpected(Shortage::ports);
}

PortStatus look_at_port(std::uint16_t port, pid_t root, PortLook look) {
    ProcReader proc;
    const std::vector<Listener> listeners = all_listeners(proc);
    if (proc.is_short()) return proc.unknown();
    const bool is_taken = std::ranges::find(listeners, port, &Listener::port) != listeners.end();
    if (!is_taken && look == PortLook::quick) return {};
    const std::vector<ProcessFacts> all = proc.processes();
    const Tree tree = tree_of(proc, root, all);
    if (proc.is_short()) return proc.unknown();
    PortStatus status;
    Side v4;
    Side v6;
    for (const Listener& listener : listeners) {
        if (listener.port != port) {
            if (tree.sockets.contains(listener.inode)) status.other_ports.push_back(listener.port);
            continue;
        }
        Side& side = listener.protocol == Protocol::ipv4 ? v4 : v6;
        const bool is_ours = tree.has(listener);
        (is_ours ? side.ours : side.stranger) = &listener;
        if (is_ours) status.listeners.push_back({listener.inode, listener.owner});
    }
    // A stranger who listens with the other protocol does no harm, because we do not use that one.
    if (v4.is_safe() || v6.is_safe()) {
        const Listener& ours = v4.is_safe() ? *v4.ours : *v6.ours;
        // A listener on [::] takes IPv4, too, unless it is IPv6 only. Then the IPv4 port is free.
        const IsFree is_v4_free =
            ours.is_wildcard && v4.stranger == nullptr ? is_free_v4(port) : true;
        if (!is_v4_free)
            return {.holder = PortStatus::Holder::unknown, .shortage = is_v4_free.error()};
        const bool is_dual = !*is_v4_free;
        status.holder = PortStatus::Holder::tree;
        status.protocol = is_dual ? Protocol::ipv4 : ours.protocol;
        status.is_exposed = !ours.is_loopback;
    } else if (const Listener* other = v4.stranger != nullptr ? v4.stranger : v6.stranger) {
        status.holder = PortStatus::Holder::stranger;
        status.stranger = holder_of(other->inode, all);
    }
    return status;
}

PortStatus look_at_socket(const ListenerId& listener, pid_t root) {
    ProcReader proc;
    const std::vector<ProcessFacts> all = proc.processes();
    const std::vector<ProcessFacts> tree = descendants_of(root, all);
    const auto is_maker = [&](const ProcessFacts& process) {
        return static_cast<std::uint64_t>(process.id.pid) == listener.number;
    };
    const auto is_user = [&](const ProcessFacts& process) {
        return user_of(proc, process.id.pid) == listener.owner;
    };
    const auto maker = std::ranges::find_if(all, is_maker);
    const bool is_ours = maker == all.end() ? std::ranges::any_of(tree, is_user)
                                            : std::ranges::any_of(tree, is_maker);
    if (proc.is_short()) return proc.unknown();
    PortStatus status{.holder = is_ours ? PortStatus::Holder::tree : PortStatus::Holder::stranger};
    if (is_ours) status.listeners = {listener};
    if (!is_ours) status.stranger = maker == all.end() ? "another process" : name_of(*maker);
    return status;
}

}  // namespace turnpike
