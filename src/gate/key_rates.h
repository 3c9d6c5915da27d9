// How often each key sends jobs. A key with a rate has a bucket that holds the jobs of one second,
// at least one, and fills at that rate. Everything is counted in whole numbers: what a bucket holds
// is counted in parts of a job, of which there are as many as nanoseconds in the rate's `per`. So in
// each nanosecond exactly `jobs` parts come in.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "base/time.h"
#include "gate/keys.h"

namespace turnpike {

class KeyRates {
public:
    /// Takes one job out of the key's bucket and returns zero. If the bucket holds none, takes
    /// nothing and returns the time until it holds one.
    [[nodiscard]] Duration take(const ApiKey& key, Instant now);

    /// Forgets the buckets of all other keys.
    void keep_only(std::span<const ApiKey> keys);

    [[nodiscard]] std::size_t size() const { return buckets_.size(); }

private:
    struct Bucket {
        Rate rate;
        std::int64_t parts = 0;
        Instant filled;
    };
    static void fill(Bucket& bucket, Instant now);

    std::unordered_map<std::uint64_t, Bucket> buckets_;  // by ApiKey::id(); at most keys_max
};

}  // namespace turnpike
