#include "os/clock.h"

#include <chrono>
#include <utility>

namespace turnpike {

namespace {

Instant monotonic_now() {
    return Instant{std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch())};
}

}  // namespace

Clock::Clock() : Clock(monotonic_now) {}

Clock::Clock(std::function<Instant()> source) : source_(std::move(source)) { read_wall_clock(); }

void Clock::read_wall_clock() {
    offset_ns_ =
        std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count() -
        source_().time_since_epoch().count();
}

Instant Clock::now() {
    if (!is_read_) {
        now_ = source_();
        is_read_ = true;
    }
    return now_;
}

std::int64_t Clock::unix_ns(Instant instant) const {
    return instant.time_since_epoch().count() + offset_ns_;
}

}  // namespace turnpike
