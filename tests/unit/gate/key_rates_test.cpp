#include "gate/key_rates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"

namespace turnpike {
namespace {

ApiKey key_of(Rate rate, std::uint8_t secret = 1) {
    ApiKey key{.name = "alice", .limits = {.rate = rate}};
    key.hash.fill(secret);
    return key;
}

Instant at(Duration since_start) { return Instant{} + 1h + since_start; }

/// Takes jobs at one moment until there are no more, and returns how many there were.
int take_all(KeyRates& rates, const ApiKey& key, Instant now) {
    int jobs = 0;
    while (rates.take(key, now) == Duration::zero()) ++jobs;
    return jobs;
}

TEST(KeyRates, AllowAsManyAtOnceAsComeInASecond) {
    KeyRates rates;
    const ApiKey key = key_of({.jobs = 5});
    EXPECT_EQ(take_all(rates, key, at(0s)), 5);
    EXPECT_EQ(take_all(rates, key, at(200ms)), 1);
    EXPECT_EQ(take_all(rates, key, at(399ms)), 0);
    EXPECT_EQ(take_all(rates, key, at(400ms)), 1);
    EXPECT_EQ(take_all(rates, key, at(1h)), 5) << "it holds no more";
}

TEST(KeyRates, AllowAtLeastOne) {
    KeyRates rates;
    const ApiKey key = key_of({.jobs = 2, .per = 1min});
    EXPECT_EQ(take_all(rates, key, at(0s)), 1);
    EXPECT_EQ(take_all(rates, key, at(30s - 1ns)), 0);
    EXPECT_EQ(take_all(rates, key, at(30s)), 1);
}

TEST(KeyRates, TellExactlyHowLongToWait) {
    KeyRates rates;
    const ApiKey key = key_of({.jobs = 7});
    take_all(rates, key, at(0s));
    const Duration wait = rates.take(key, at(0s));
    EXPECT_EQ(wait, Duration{142'857'143}) << "a seventh of a second, rounded up";
    EXPECT_EQ(rates.take(key, at(wait - 1ns)), 1ns) << "asking costs nothing";
    EXPECT_EQ(rates.take(key, at(wait)), Duration::zero());
}

TEST(KeyRates, NeverDriftHoweverOftenAKeyAsks) {
    for (const Rate rate :
         {Rate{.jobs = 3}, Rate{.jobs = 601, .per = 1min}, Rate{.jobs = 999'983}}) {
        KeyRates rates;
        const ApiKey key = key_of(rate);
        Random random(rate.jobs);
        const int at_once = take_all(rates, key, at(0s));
        const Duration whole = rate.jobs > 1000 ? Duration(100ms) : 20 * rate.per;
        std::int64_t jobs = 0;
        for (Duration now{}; now < whole;) {
            now = std::min(
                whole, now + Duration{1 + static_cast<std::int64_t>(random.below(
                                              static_cast<std::uint64_t>(whole.count() / 2000)))});
            jobs += take_all(rates, key, at(now));
        }
        EXPECT_EQ(jobs, whole.count() / 1000 * rate.jobs / (rate.per.count() / 1000))
            << text_of(rate) << " after " << at_once;
    }
}

TEST(KeyRates, CountEachKeyForItself) {
    KeyRates rates;
    const ApiKey alice = key_of({.jobs = 1}, 1);
    const ApiKey bob = key_of({.jobs = 1}, 2);
    EXPECT_EQ(take_all(rates, alice, at(0s)), 1);
    EXPECT_EQ(take_all(rates, bob, at(0s)), 1);
    rates.keep_only(std::vector{bob});
    EXPECT_EQ(rates.size(), 1U);
    EXPECT_EQ(take_all(rates, bob, at(0s)), 0) << "reading the file again gives nobody more";
    EXPECT_EQ(take_all(rates, alice, at(0s)), 1) << "a new key of an old name is another one";
}

TEST(KeyRates, FollowTheFile) {
    KeyRates rates;
    EXPECT_EQ(take_all(rates, key_of({.jobs = 2}), at(0s)), 2);
    EXPECT_EQ(take_all(rates, key_of({.jobs = 3}), at(0s)), 3);
    ApiKey without = key_of({});
    without.limits.rate.reset();
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(rates.take(without, at(0s)), Duration::zero());
}

TEST(KeyRates, HoldWhenTimeJumps) {
    KeyRates rates;
    const ApiKey key = key_of({.jobs = 1'000'000});
    EXPECT_EQ(take_all(rates, key, at(0s)), 1'000'000);
    EXPECT_EQ(take_all(rates, key, at(-1s)), 0);
    EXPECT_EQ(take_all(rates, key, never), 1'000'000);
}

}  // namespace
}  // namespace turnpike
