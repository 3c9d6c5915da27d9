// Randomness that belongs to a thing. Each draw comes from a hash of (seed, topic, who, which),
// never from a stream that all share: so taking one stimulus out of a run leaves the luck of
// everything else as it was, and shrinking works.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "base/time.h"

namespace turnpike::sim {

[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    return Random(Random(hash).next() ^ value).next();
}

/// What the luck is about, so that equal numbers of different things have nothing in common.
enum class Topic : std::uint64_t {
    settings,
    workload,
    faults,
    tie,
    curse,
    start,
    load,
    outside,
    stop,
    kill,
    gone,
    memory,
    crash,
    attempt,
    cancel,
    lie,
    probe,
    proof,
    client,
    shell,
    engine,
    native,
    reload,
};

[[nodiscard]] constexpr Random random_of(std::uint64_t seed, Topic topic, std::uint64_t who = 0,
                                         std::uint64_t which = 0) {
    return Random(mix(mix(mix(seed, static_cast<std::uint64_t>(topic)), who), which));
}

/// Whole milliseconds, so that moments can meet.
[[nodiscard]] constexpr Duration between(Random& random, Duration low, Duration high) {
    return Duration(1ms) * random.between(low / 1ms, high / 1ms);
}

}  // namespace turnpike::sim
