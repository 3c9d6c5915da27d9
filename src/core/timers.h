// Every wait of the engine, in one heap. A Timer lives inside the thing that waits and knows its
// place in the heap, so arming, moving and disarming cost O(log n) and the next deadline is always
// at hand.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace turnpike {

enum class TimerKind : std::uint8_t {
    job,       // its deadline, or the longest wait in the queue
    attempt,   // slow, job_timeout, cancel_grace
    worker,    // load, proof, rest, stop: what its state waits for
    probe,     // of an idle worker
    lane,      // the next start
    proof,     // of a pool: the next periodic proof
    shutdown,  // the end of patience
};

struct Timer {
    static constexpr std::uint32_t unarmed = ~std::uint32_t{0};

    TimerKind kind = TimerKind::job;
    std::uint32_t place = unarmed;
    std::uint64_t owner = 0;  // the id of the thing that holds it

    [[nodiscard]] bool is_armed() const { return place != unarmed; }
};

/// A 4-ary heap: shallow, and a node's children share a cache line.
class Timers {
public:
    /// Arms, or moves, the timer; `never` disarms it. It must not move in memory while armed.
    void arm(Timer& timer, Instant at);
    void disarm(Timer& timer);

    [[nodiscard]] Instant next() const { return heap_.empty() ? never : heap_.front().at; }

    /// Disarms and returns the earliest timer if it is due.
    Timer* take_due(Instant now);

private:
    struct Entry {
        Instant at;
        Timer* timer;
    };

    void put(std::size_t place, Entry entry);
    void settle(std::size_t place, Entry entry);

    std::vector<Entry> heap_;
};

}  // namespace turnpike
