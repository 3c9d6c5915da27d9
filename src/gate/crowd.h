// Who is connected, counted by client, and who has to go when connections run short: of the client
// that has most, the connection that has idled longest; then one that only waits to be closed; then
// the oldest partial head; then the oldest upload. A connection whose job waits, runs or is answered
// never has to go.
//
// A choice never looks at all clients or connections. The clients of which a connection may go are
// ranked by how many connections they have. One whose connections all became busy keeps its rank
// until a choice meets it, so that a request costs no search.
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
        unrank(thing.client(), client);
        if (client.count++ == 0) ++connected_;
        client.lists[index(thing.standing)].push_back(thing);
        count_removable(client, thing.standing, 1);
        rank(thing.client(), client);
    }

    void remove(Thing& thing) {
        Client& client = client_of(thing);
        unrank(thing.client(), client);
        if (--client.count == 0) --connected_;
        client.lists[index(thing.standing)].remove(thing);
        count_removable(client, thing.standing, -1);
        rank(thing.client(), client);
    }

    /// Notes what the connection does now.
    void stands(Thing& thing, Standing standing) {
        if (thing.standing == standing) return;
        Client& client = client_of(thing);
        client.lists[index(thing.standing)].remove(thing);
        client.lists[index(standing)].push_back(thing);
        count_removable(client, standing, 1);
        count_removable(client, thing.standing, -1);
        thing.standing = standing;
        rank(thing.client(), client);
    }

    [[nodiscard]] std::size_t count(ClientId client) const {
        return client.value < clients_.size() ? clients_[client.value].count : 0;
    }
    /// Returns how many clients are connected.
    [[nodiscard]] std::size_t clients() const { return connected_; }
    /// True if some connection may be pushed out.
    [[nodiscard]] bool has_removable() const { return removable_ > 0; }

    /// Returns which connection of this client goes first, or nullptr if none may go.
    [[nodiscard]] Thing* first_of(ClientId id) const {
        if (id.value >= clients_.size()) return nullptr;
        const Client& client = clients_[id.value];
        if (Thing* idle = first_idle(client)) return idle;
        for (const Standing standing : {Standing::closing, Standing::head, Standing::uploading})
            if (Thing* first = client.lists[index(standing)].front()) return first;
        return client.lists[index(Standing::idle)].front();
    }

    /// Returns which connection goes first: one of the client that has most, of those clients that
    /// have one that may go. Returns nullptr only if there is no such client.
    [[nodiscard]] Thing* first_of_most() {
        while (!by_count_.empty()) {
            const ClientId most{by_count_.rbegin()->second};
            if (Thing* first = first_of(most)) return first;
            unrank(most, clients_[most.value]);  // all its connections are busy now
        }
        return nullptr;
    }

private:
    struct Client {
        std::size_t count = 0;
        std::size_t removable = 0;  // as many of them may go
        bool is_ranked = false;
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

    void count_removable(Client& client, Standing standing, int change) {
        if (standing == Standing::busy) return;
        client.removable += static_cast<std::size_t>(change);
        removable_ += static_cast<std::size_t>(change);
    }

    void rank(ClientId id, Client& client) {
        if (client.is_ranked || client.removable == 0) return;
        by_count_.insert({client.count, id.value});
        client.is_ranked = true;
    }
    /// Must be called before the count changes.
    void unrank(ClientId id, Client& client) {
        if (!std::exchange(client.is_ranked, false)) return;
        by_count_.erase({client.count, id.value});
    }

    /// A request may have come on a connection that still counts as idle. Such a one stays if another
    /// can go.
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
    std::set<std::pair<std::size_t, std::uint64_t>> by_count_;  // connections, client; if ranked
    std::size_t connected_ = 0;                                 // clients
    std::size_t removable_ = 0;                                 // connections
};

}  // namespace turnpike
