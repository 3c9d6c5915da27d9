#include "core/client.h"

#include <algorithm>

#include "core/event.h"
#include "core/state.h"

namespace turnpike::client {

ClientState& add(State& s, ClientId id) {
    while (s.clients.size() <= id.value) {
        s.clients.push_back(std::make_unique<ClientState>());
        s.clients.back()->id = ClientId{s.clients.size() - 1};
    }
    ClientState& client = *s.clients[id.value];
    client.is_known = true;
    return client;
}

Line& add_line(ClientState& client, const Pool& pool) {
    if (client.lines.size() <= pool.id.value) client.lines.resize(pool.id.value + 1);
    std::unique_ptr<Line>& place = client.lines[pool.id.value];
    place = std::make_unique<Line>();
    place->client = &client;
    place->pool = pool.id;
    std::uint8_t level = 0;
    for (Turn& turn : place->turns) turn.line = place.get(), turn.level = level++;
    return *place;
}

void forgotten(State& s, const ClientForgotten& event) {
    if (event.client.value >= s.clients.size()) return;
    ClientState& client = *s.clients[event.client.value];
    if (!client.is_known || client.live > 0) return;
    std::vector<std::unique_ptr<Line>> lines = std::move(client.lines);  // they are empty
    client = {.id = event.client};
    client.lines = std::move(lines);
}

void forgive_all(State& s) {
    for (const auto& client : s.clients) {
        client->poisoned_at.fill(Instant::min());
        client->suspected_until = Instant::min();
    }
}

void poisoned(const State& s, ClientState& client) {
    const Instant earliest = client.poisoned_at.front();  // of those that may make it too many
    const bool are_many =
        earliest != Instant::min() && s.now - earliest < s.settings.suspicion_keep;
    if (are_many || s.now < client.suspected_until)
        client.suspected_until = later(s.now, s.settings.suspicion_keep);
    std::ranges::rotate(client.poisoned_at, client.poisoned_at.begin() + 1);
    client.poisoned_at.back() = s.now;
}

}  // namespace turnpike::client
