// The clock of the shell. Reading it is a system call on some machines, so it is read once per turn
// of the loop: the first now() reads it, and later ones return the same time until forget().
#pragma once

#include <cstdint>
#include <functional>

#include "base/time.h"

namespace turnpike {

class Clock {
public:
    /// Reads the system's monotonic clock.
    Clock();
    /// Reads `source` instead, for tests.
    explicit Clock(std::function<Instant()> source);

    [[nodiscard]] Instant now();
    /// Makes the next now() read the clock again.
    void forget() { is_read_ = false; }

    /// Converts an instant of this clock to nanoseconds since 1970 (UTC).
    [[nodiscard]] std::int64_t unix_ns(Instant instant) const;
    /// Reads the wall clock, for unix_ns(). Must be repeated now and then: people set the wall
    /// clock, and it also advances while the machine sleeps.
    void read_wall_clock();

private:
    std::function<Instant()> source_;
    Instant now_{};
    bool is_read_ = false;
    std::int64_t offset_ns_ = 0;
};

}  // namespace turnpike
