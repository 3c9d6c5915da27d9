#include "os/clock.h"

#include <chrono>

namespace turnpike {

namespace {

std::int64_t monotonic_ns() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Clock::Clock() { read_wall_clock(); }

void Clock::read_wall_clock() {
    offset_ns_ =
        std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count() -
        monotonic_ns();
}

Instant Clock::now() {
    if (!is_read_) {
        now_ = Instant{Duration{monotonic_ns()}};
        is_read_ = true;
    }
    return now_;
}

std::int64_t Clock::unix_ns(Instant instant) const {
    return instant.time_since_epoch().count() + offset_ns_;
}

}  // namespace turnpike
