// Randomness that belongs to one thing. Each draw comes from a hash of (seed, topic, who, which),
// never from a stream that all share. So a run without one of its stimuli draws the same numbers
// for everything else, and shrinking works.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "base/time.h"

namespace turnpike::sim {

[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    return Random(Random(hash).next() ^ value).next();
}

/// What a draw is about, so that things of different kinds with equal numbers draw independently.
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
    hash,
    block,
    dump,
    forget,
};

[[nodiscard]] constexpr Random random_of(std::uint64_t seed, Topic topic, std::uint64_t who = 0,
                                         std::uint64_t which = 0) {
    return Random(mix(mix(mix(seed, static_cast<std::uint64_t>(topic)), who), which));
}

/// Returns whole milliseconds, so that two events can fall on one instant.
[[nodiscard]] constexpr Duration between(Random& random, Duration low, Duration high) {
    return Duration(1ms) * random.between(low / 1ms, high / 1ms);
}

}  // namespace turnpike::sim
