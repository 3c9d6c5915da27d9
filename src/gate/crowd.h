// Who is connected, counted by client, and who has to go when connections run short: of the client
// that has most, the connection that has idled longest; then one that only waits to be closed; then
// the oldest partial head; then the oldest upload. A connection whose job waits, runs or is answered
// never has to go.
//
// A choice looks at a few clients, never at all connections.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/list.h"
#include "core/words.h"

namespace turnpike {

/// What a connection does, as far as pushing it out is concerned. An earlier value goes first.
enum class Standing : std::uint8_t {
    idle,       // between two requests
    closing,    // has its answer
    head,       // a part of a request's head has come
    uploading,  // a part of its body has come
    busy,       // its job needs it
};
inline constexpr std::size_t standings = 5;

/// A Thing needs these members: Links<Thing> crowd_links; Standing standing; ClientId client()
/// const; bool has_input_waiting() const, which tells whether bytes have come that nobody has read.
template <class Thing>
class Crowd {
public:
    void add(Thing& thing) {
        Client& client = client_of(thing);
        recount(thing.client(), client, client.count + 1);
        client.lists[index(thing.standing)].push_back(thing);
        if (thing.standing != Standing::busy) ++removable_;
    }

    void remove(Thing& thing) {
        Client& client = client_of(thing);
        client.lists[index(thing.standing)].remove(thing);
        if (thing.standing != Standing::busy) --removable_;
        recount(thing.client(), client, client.count - 1);
    }

    /// Notes what the connection does now.
    void stands(Thing& thing, Standing standing) {
        if (thing.standing == standing) return;
        Client& client = client_of(thing);
        client.lists[index(thing.standing)].remove(thing);
        client.lists[index(standing)].push_back(thing);
        removable_ += (standing != Standing::busy ? 1U : 0U);
        removable_ -= (thing.standing != Standing::busy ? 1U : 0U);
        thing.standing = standing;
    }

    [[nodiscard]] std::size_t count(ClientId client) const {
        return client.value < clients_.size() ? clients_[client.value].count : 0;
    }
    /// Returns how many clients are connected.
    [[nodiscard]] std::size_t clients() const { return by_count_.size(); }
    /// True if some connection may be pushed out.
    [[nodiscard]] bool has_removable() const { return removable_ > 0; }

    /// Returns which connection of this client goes first, or nullptr if none may go.
    [[nodiscard]] Thing* first_of(ClientId id) const {
        if (id.value >= clients_.size()) return nullptr;
        const Client& client = clients_[id.value];
        if (Thing* idle = first_idle(client)) return idle;
        for (const Standing standing : {Standing::closing, Standing::head, Standing::uploading})
            if (Thing* first = client.lists[index(standing)].front()) return first;
        return nullptr;
    }

    /// Returns which connection goes first: one of the client that has most.
    [[nodiscard]] Thing* first_of_most() const {
        constexpr int looked_at_max = 16;
        int looked = 0;
        for (auto it = by_count_.rbegin(); it != by_count_.rend() && looked < looked_at_max; ++it) {
            if (Thing* first = first_of(ClientId{it->second})) return first;
            ++looked;
        }
        return nullptr;
    }

private:
    struct Client {
        std::size_t count = 0;
        std::array<List<Thing, &Thing::crowd_links>, standings> lists{};
    };

    static constexpr std::size_t index(Standing standing) {
        return static_cast<std::size_t>(standing);
    }

    Client& client_of(const Thing& thing) {
        const ClientId id = thing.client();
        CHECK(!id.is_none());
        while (clients_.size() <= id.value) clients_.emplace_back();
        return clients_[id.value];
    }

    void recount(ClientId id, Client& client, std::size_t count) {
        if (client.count > 0) by_count_.erase({client.count, id.value});
        client.count = count;
        if (count > 0) by_count_.insert({count, id.value});
    }

    /// A request may have come on a connection that still counts as idle. Such a one stays.
    static Thing* first_idle(const Client& client) {
        constexpr int things_max = 8;  // to look at
        int looked = 0;
        Thing* idle = client.lists[index(Standing::idle)].front();
        for (; idle != nullptr && looked < things_max; ++looked) {
            if (!idle->has_input_waiting()) return idle;
            idle = client.lists[index(Standing::idle)].after(*idle);
        }
        return nullptr;
    }

    std::deque<Client> clients_;                                // index: the id
    std::set<std::pair<std::size_t, std::uint64_t>> by_count_;  // connections, client
    std::size_t removable_ = 0;
};

}  // namespace turnpike
