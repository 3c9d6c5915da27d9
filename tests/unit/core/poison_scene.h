// What the tests of the memory of poison begin with.
#pragma once

#include <gtest/gtest.h>

#include "tests/unit/core/gate.h"

namespace turnpike::test {

/// Lets every lane serve again.
inline void bring_up_all(Gate& gate) {
    gate.pass(1min);
    for (const LaneView& lane : gate.view().lanes)
        if (lane.state == LaneState::starting) gate.comes_up(lane.current);
}

/// Lets a job of this length die on two lanes, so that it is poison. All lanes serve again
/// afterwards.
inline JobId poison(Gate& gate, Bytes length) {
    const JobId job = gate.queue_job({.bytes = length});
    gate.pass(1s);
    for (int deaths = 0; deaths < 2; ++deaths) gate.dies(gate.lane_of(job).value);
    EXPECT_EQ(gate.ended(job), EndReason::poison);
    bring_up_all(gate);
    return job;
}

/// Two lanes. A job of 100 bytes with digest 7 is known to be poison.
struct KnownPoison {
    explicit KnownPoison(PoolSettings settings = {}) : gate(two_lanes(settings)) {
        gate.open();
        first = poison(gate, Bytes{100});
        gate.hashed(first, 7);
    }
    static PoolSettings two_lanes(PoolSettings settings) {
        settings.lanes = 2;
        return settings;
    }
    JobId equal() { return gate.queue_job({.bytes = Bytes{100}}); }
    /// True if jobs of this length are compared with known poison.
    bool is_compared(Bytes length = Bytes{100}) {
        const JobId job = gate.queue_job({.bytes = length});
        const bool is_hashed = !gate.acts<HashJob>().empty();
        gate.tell(ClientLeft{job});
        return is_hashed;
    }
    Gate gate;
    JobId first;
};

}  // namespace turnpike::test
