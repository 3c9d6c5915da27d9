// The clock of the shell. Reading it is a system call on some machines, so it is read once per turn
// of the loop: now() reads it when somebody asks, and answers the same until forget().
#pragma once

#include <cstdint>

#include "base/time.h"

namespace turnpike {

class Clock {
public:
    [[nodiscard]] Instant now();
    /// The next now() reads anew.
    void forget() { is_read_ = false; }

    /// An instant of this clock as time since 1970 (UTC).
    [[nodiscard]] std::int64_t unix_ns(Instant instant) const;
    /// Asks the wall clock anew: it is set now and then, and goes on while the machine sleeps.
    void read_wall_clock();

    Clock();

private:
    Instant now_{};
    bool is_read_ = false;
    std::int64_t offset_ns_ = 0;
};

}  // namespace turnpike
