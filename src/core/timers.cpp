#include "core/timers.h"

#include <algorithm>
#include <cstddef>

#include "base/check.h"

namespace turnpike {

namespace {
constexpr std::size_t arity = 4;
}

void Timers::put(std::size_t place, Entry entry) {
    heap_[place] = entry;
    entry.timer->place = static_cast<std::uint32_t>(place);
}

/// Moves the hole at `place` up or down to where `entry` belongs, and puts `entry` there.
void Timers::settle(std::size_t place, Entry entry) {
    while (place > 0) {
        const std::size_t parent = (place - 1) / arity;
        if (heap_[parent].at <= entry.at) break;
        put(place, heap_[parent]);
        place = parent;
    }
    while (true) {
        const std::size_t first = place * arity + 1;
        if (first >= heap_.size()) break;
        const std::size_t last = std::min(first + arity, heap_.size());
        std::size_t least = first;
        for (std::size_t child = first + 1; child < last; ++child)
            if (heap_[child].at < heap_[least].at) least = child;
        if (heap_[least].at >= entry.at) break;
        put(place, heap_[least]);
        place = least;
    }
    put(place, entry);
}

void Timers::arm(Timer& timer, Instant at) {
    if (at == never) return disarm(timer);
    if (!timer.is_armed()) {
        heap_.push_back({});
        return settle(heap_.size() - 1, {at, &timer});
    }
    CHECK(heap_[timer.place].timer == &timer);
    settle(timer.place, {at, &timer});
}

void Timers::disarm(Timer& timer) {
    if (!timer.is_armed()) return;
    const std::size_t hole = timer.place;
    CHECK(heap_[hole].timer == &timer);
    timer.place = Timer::unarmed;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (hole < heap_.size()) settle(hole, last);
}

Timer* Timers::take_earliest() {
    Timer* earliest = heap_.front().timer;
    disarm(*earliest);
    return earliest;
}

}  // namespace turnpike
