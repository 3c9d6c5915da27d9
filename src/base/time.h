// Time as a value. An Instant is a point on a timeline; only the caller reads a clock, nothing here
// does.
#pragma once

#include <chrono>
#include <cstdint>

namespace turnpike {

using Duration = std::chrono::duration<std::int64_t, std::nano>;

struct Timeline {};  // has no now() on purpose
using Instant = std::chrono::time_point<Timeline, Duration>;

inline constexpr Instant never = Instant::max();

using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""us;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""h;

/// Returns `from + by`, but at most `never`.
[[nodiscard]] constexpr Instant later(Instant from, Duration by) {
    return by >= never - from ? never : from + by;
}

}  // namespace turnpike
