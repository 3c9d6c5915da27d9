// Delta debugging: the fewest stimuli that still show a failure. Not the smallest set there is, but
// one from which none can be left out (if time allows).
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

/// `ids` must fail. What it returns fails too, and keeps the order.
[[nodiscard]] Ids shrink(Ids ids, const Shrinking& shrinking);

}  // namespace turnpike::sim
