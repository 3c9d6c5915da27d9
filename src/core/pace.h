// The pace of a pool: how long its jobs usually run (a median, so that one odd job changes little)
// and how much slot time a job takes (a mean, so that waits add up). Both in whole nanoseconds.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace turnpike {

class Pace {
public:
    /// Adds an answered attempt that ran this long and shared its slot with `batch_size - 1`
    /// others.
    void add(Duration run, std::uint32_t batch_size);

    [[nodiscard]] Duration usual() const { return usual_; }
    [[nodiscard]] Duration slot_time() const { return slot_time_; }
    [[nodiscard]] std::uint64_t samples() const { return samples_; }

private:
    Duration usual_ = Duration::zero();
    Duration slot_time_ = Duration::zero();
    std::uint64_t samples_ = 0;
};

}  // namespace turnpike
