// A client, as the engine knows it: how much it has, and whether its jobs kill workers. The gate gives
// clients their numbers; its `Clients` knows who they are.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "core/rounds.h"
#include "core/settings.h"
#include "core/words.h"

namespace turnpike {

struct State;
struct Job;
struct Pool;
struct ClientForgotten;

struct ClientState {
    ClientId id;
    bool is_known = false;      // has sent a job and was not forgotten
    std::uint32_t live = 0;     // jobs that live, in all pools
    std::uint32_t uploads = 0;  // of these, jobs that arrive
    Bytes bytes;                // of its live jobs
    Bytes bytes_max;            // as its latest arrival said; 0 means no limit
    std::uint64_t refused = 0;
    std::array<Instant, suspicious_poisons - 1> poisoned_at{Instant::min(), Instant::min()};
    Instant suspected_until = Instant::min();
    std::vector<std::unique_ptr<Line>> lines;  // by pool; nullptr until its first job there

    /// Returns its line in this pool, or nullptr if it has none yet.
    [[nodiscard]] Line* line_in(PoolId pool) const {
        return pool.value < lines.size() ? lines[pool.value].get() : nullptr;
    }
};

namespace client {

/// Makes a client known. Its number must be less than clients_max.
ClientState& add(State& s, ClientId id);

/// Gives the client a line in this pool.
Line& add_line(ClientState& client, const Pool& pool);

void forgotten(State& s, const ClientForgotten& event);

/// Notes that a job of the client was poison.
void poisoned(const State& s, ClientState& client);

/// Forgets which clients are suspected: the model that their jobs have killed is another one now.
void forgive_all(State& s);

}  // namespace client
}  // namespace turnpike
