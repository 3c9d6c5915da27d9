// All waits of the engine, in one heap. A Timer is a member of the object that waits and knows its
// place in the heap. So arming, moving and disarming cost O(log n), and reading the next deadline
// costs O(1).
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace turnpike {

enum class TimerKind : std::uint8_t {
    job,        // the deadline, or the longest wait in the queue
    attempt,    // the next check for slowness, job_timeout, cancel_grace
    worker,     // the longest time of its state: load, proof, rest, stop
    probe,      // the next probe of a worker
    abandoned,  // how long a worker may go on when nobody waits for anything aboard
    lane,       // the next start
    proof,      // the next periodic proof of a pool
    shutdown,   // the deadline of the shutdown
};

struct Timer {
    static constexpr std::uint32_t unarmed = ~std::uint32_t{0};

    TimerKind kind = TimerKind::job;
    std::uint32_t place = unarmed;
    std::uint64_t owner = 0;  // the id of the object that the timer is a member of

    [[nodiscard]] bool is_armed() const { return place != unarmed; }
};

/// A 4-ary heap: shallow, and a node's children share a cache line.
class Timers {
public:
    /// Arms the timer, or moves it to another time; `never` disarms it. An armed timer must not
    /// move in memory.
    void arm(Timer& timer, Instant at);
    /// Arms the timer unless it goes off by then anyway. Saves moving a timer that hardly ever goes
    /// off; its owner must look whether its time has really come.
    void arm_by(Timer& timer, Instant at) {
        if (!timer.is_armed() || heap_[timer.place].at > at) arm(timer, at);
    }
    void disarm(Timer& timer);

    [[nodiscard]] Instant next() const { return heap_.empty() ? never : heap_.front().at; }

    /// Disarms and returns the earliest timer if it is due.
    Timer* take_due(Instant now) {
        return heap_.empty() || heap_.front().at > now ? nullptr : take_earliest();
    }

private:
    Timer* take_earliest();

    struct Entry {
        Instant at;
        Timer* timer;
    };

    void put(std::size_t place, Entry entry);
    void settle(std::size_t place, Entry entry);

    std::vector<Entry> heap_;
};

}  // namespace turnpike
