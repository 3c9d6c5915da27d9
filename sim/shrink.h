// Delta debugging: finds a few stimuli that still show a failure. The result is not the smallest
// set that exists, but no single stimulus can be left out of it (if time allows).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace turnpike::sim {

using Ids = std::vector<std::uint32_t>;

struct Shrinking {
    std::function<bool(const Ids&)> still_fails;
    std::function<bool()> may_go_on;  // asked before each try
};

/// `ids` must fail. The result fails too, and keeps their order.
[[nodiscard]] Ids shrink(Ids ids, const Shrinking& shrinking);

}  // namespace turnpike::sim
