// Who the clients are: an API key, or, for whoever comes without one, the address of the connection.
// An IPv6 address counts by its /64, because one machine may have all addresses of it. All loopback
// addresses are one client, because every program of this machine may use any of them.
//
// Every client has a small number, so that others can count by client in plain arrays. A client
// that nobody uses keeps its number for a while, since it may come back: what the engine knows of
// it (that its jobs kill workers, for example) stays. Only then the number goes to somebody else.
// If too many numbers are in use at once, whoever comes then shares the last one. Addresses may use
// half of them, so that every key has its own, whoever comes with many addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/list.h"
#include "core/settings.h"
#include "core/words.h"

namespace turnpike {

class Clients;
struct ApiKey;

/// Keeps a client's number as long as it lives. Every connection has one, and every job.
class ClientUse {
public:
    ClientUse() = default;
    ClientUse(ClientUse&& other) noexcept
        : clients_(std::exchange(other.clients_, nullptr)), id_(other.id_) {}
    ClientUse& operator=(ClientUse&& other) noexcept;
    ~ClientUse();

    [[nodiscard]] ClientId id() const { return id_; }
    /// Returns a second use of the same client.
    [[nodiscard]] ClientUse again() const;

private:
    friend class Clients;
    ClientUse(Clients* clients, ClientId id) : clients_(clients), id_(id) {}

    Clients* clients_ = nullptr;
    ClientId id_;
};

class Clients {
public:
    /// How many clients that nobody uses are remembered.
    static constexpr std::size_t unused_max = 1024;
    /// How many addresses may have a number of their own at once.
    static constexpr std::size_t addresses_max = clients_max / 2;

    /// Calls `forgotten` before a number goes to another client.
    explicit Clients(std::function<void(ClientId)> forgotten) : forgotten_(std::move(forgotten)) {}
    Clients(const Clients&) = delete;
    Clients& operator=(const Clients&) = delete;

    /// Returns the client at this address ("127.0.0.1", "::1"). An empty address means the command
    /// line, which comes over the Unix socket.
    [[nodiscard]] ClientUse at_address(std::string_view address);
    [[nodiscard]] ClientUse with_key(const ApiKey& key);

    /// Returns what people call the client: "key alice", "10.0.0.7", "2001:db8::/64",
    /// "this machine" or "command line". Must be called for numbers in use or remembered.
    [[nodiscard]] const std::string& name_of(ClientId id) const;
    /// Returns how many numbers were ever given out, at most clients_max. All are smaller than this.
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

private:
    friend class ClientUse;

    struct Entry {
        ClientId id;
        std::string name;
        std::uint64_t key = 0;  // the id of its API key; 0 without one
        std::uint32_t uses = 0;
        Links<Entry> links;  // in unused_ while `uses` is 0
    };

    ClientUse use(ClientId known);
    ClientUse use_new(std::string name, std::uint64_t key);
    Entry* entry_for_new();
    [[nodiscard]] ClientUse use_rest();
    void add_use(ClientId id);
    void remove_use(ClientId id);

    std::function<void(ClientId)> forgotten_;
    std::deque<Entry> entries_;  // index: the id
    std::unordered_map<std::string, ClientId> by_address_;
    std::unordered_map<std::uint64_t, ClientId> by_key_;
    ClientId rest_;              // whoever came when all numbers were in use; none before that
    std::size_t addresses_ = 0;  // in use
    List<Entry, &Entry::links> unused_;  // the one that has been unused longest first
};

}  // namespace turnpike
