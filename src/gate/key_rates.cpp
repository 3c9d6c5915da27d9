#include "gate/key_rates.h"

#include <algorithm>

namespace turnpike {
namespace {

std::int64_t parts_of_a_job(const Rate& rate) { return rate.per.count(); }

std::int64_t parts_max(const Rate& rate) {
    return std::max(parts_of_a_job(rate), rate.jobs * Duration(1s).count());
}

}  // namespace

Duration KeyRates::take(const ApiKey& key, Instant now) {
    if (!key.limits.rate) return Duration::zero();
    const Rate& rate = *key.limits.rate;
    const auto [place, is_new] = buckets_.try_emplace(key.id());
    Bucket& bucket = place->second;
    if (is_new || bucket.rate != rate)
        bucket = {.rate = rate, .parts = parts_max(rate), .filled = now};
    fill(bucket, now);
    const std::int64_t missing = parts_of_a_job(rate) - bucket.parts;
    if (missing > 0) return Duration{(missing + rate.jobs - 1) / rate.jobs};
    bucket.parts -= parts_of_a_job(rate);
    return Duration::zero();
}

/// An empty bucket is full after `per` at the latest, so the product below can't overflow.
void KeyRates::fill(Bucket& bucket, Instant now) {
    const Duration passed = now - bucket.filled;
    const std::int64_t most = parts_max(bucket.rate);
    if (passed <= Duration::zero()) return;
    bucket.filled = now;
    bucket.parts = passed >= bucket.rate.per
                       ? most
                       : std::min(most, bucket.parts + passed.count() * bucket.rate.jobs);
}

void KeyRates::keep_only(std::span<const ApiKey> keys) {
    std::erase_if(buckets_, [&](const auto& bucket) {
        return std::ranges::find(keys, bucket.first, &ApiKey::id) == keys.end();
    });
}

}  // namespace turnpike
