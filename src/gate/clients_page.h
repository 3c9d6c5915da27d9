// What /-/status says about clients, to admins only.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/json_writer.h"
#include "base/time.h"

namespace turnpike {

struct ClientFigures {
    std::string name;  // as Clients::name_of() returns it
    std::uint64_t uploads = 0;
    std::uint64_t queued = 0;
    std::uint64_t running = 0;
    Bytes bytes;                              // of its live jobs' bodies, as the engine counts them
    std::uint64_t refused = 0;                // requests
    Duration oldest_wait = Duration::zero();  // of its queued jobs
    bool is_suspected = false;                // several of its jobs killed workers
};

/// True if there is nothing to tell about the client.
[[nodiscard]] bool is_idle(const ClientFigures& client);

/// Appends a list with an object for each client.
void append_clients(JsonWriter& json, std::span<const ClientFigures> clients);

}  // namespace turnpike
