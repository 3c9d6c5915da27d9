// How many requests the gate itself refused, by pool and by client: a body that is announced too
// large, a key over its rate. The engine counts all other refusals, but never hears of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/words.h"

namespace turnpike {

class Refusals {
public:
    explicit Refusals(std::size_t pools) : by_pool_(pools) {}

    void add(PoolId pool, ClientId client) {
        ++by_pool_[pool.value];
        if (client.value >= by_client_.size()) by_client_.resize(client.value + 1);
        ++by_client_[client.value];
    }
    /// Must be called before the number of a client goes to another one.
    void forget(ClientId client) {
        if (client.value < by_client_.size()) by_client_[client.value] = 0;
    }

    [[nodiscard]] std::uint64_t of(PoolId pool) const { return by_pool_[pool.value]; }
    [[nodiscard]] std::uint64_t of(ClientId client) const {
        return client.value < by_client_.size() ? by_client_[client.value] : 0;
    }

private:
    std::vector<std::uint64_t> by_pool_;
    std::vector<std::uint64_t> by_client_;
};

}  // namespace turnpike
