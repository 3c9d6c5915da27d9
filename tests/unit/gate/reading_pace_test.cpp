#include "gate/reading_pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace turnpike {
namespace {

constexpr RateRule rule{.per_second = Bytes{1024}, .window = 10s};

/// A client's kernel and ours, as far as they matter here. The client reads bytes at a steady rate,
/// but its kernel opens the window only when a whole `step` was read, and our send buffer takes more
/// only when a third of it is free.
struct Reader {
    std::uint64_t rate;
    std::uint64_t step;
    std::uint64_t send_buffer;
    std::uint64_t size;  // of the answer

    std::uint64_t window = std::uint64_t{256} * 1024;  // that its kernel offers at first
};

enum class Fate : std::uint8_t { has_all, is_cut };

/// Lets the client read its answer, and looks at it every quarter of a window, as the gate does.
Fate fate_of(const Reader& reader, const RateRule& by) {
    ReadingPace pace;
    Instant now{};
    std::uint64_t written = 0;
    std::uint64_t acknowledged = 0;
    const Duration every = by.window / 4;
    pace.begin_answer();
    pace.start_clock(now);
    for (Duration time{};; time += every) {
        const auto ms = static_cast<std::uint64_t>(time / 1ms);
        const std::uint64_t read = reader.rate * ms / 1000 / reader.step * reader.step;
        for (bool moves = true; moves;) {
            const std::uint64_t room = reader.send_buffer - (written - acknowledged);
            const std::uint64_t more = std::min(reader.size - written, room);
            moves = more > 0 && (more == reader.size - written || room >= reader.send_buffer / 3);
            if (moves) pace.wrote(more), written += more;
            acknowledged = std::max(acknowledged, std::min(written, read + reader.window));
        }
        if (acknowledged == reader.size) return Fate::has_all;
        now = Instant{} + time;
        pace.look(written - acknowledged, by, now);
        if (pace.is_too_slow(by, Held::answer)) return Fate::is_cut;
    }
}

TEST(ReadingPace, KeepsEveryReaderAboveTheMinimumWhateverBuffersLieBetween) {
    for (const std::uint64_t rate : {1100U, 2048U, 8U * 1024, 32U * 1024, 64U * 1024, 1024U * 1024})
        for (const std::uint64_t send_buffer : {16U * 1024, 256U * 1024, 4U * 1024 * 1024})
            for (const std::uint64_t step :
                 {1U, 1460U, 16U * 1024, 40U * 1024, 128U * 1024, 256U * 1024, 512U * 1024})
                for (const std::uint64_t size : {300U * 1024, 8U * 1024 * 1024})
                    EXPECT_EQ(fate_of({.rate = rate,
                                       .step = step,
                                       .send_buffer = send_buffer,
                                       .size = size,
                                       .window = std::max<std::uint64_t>(step, 256U * 1024)},
                                      rule),
                              Fate::has_all)
                        << rate << " bytes/s in steps of " << step << " of " << size
                        << ", send buffer " << send_buffer;
}

TEST(ReadingPace, CutsEveryReaderBelowTheMinimum) {
    for (const std::uint64_t rate : {0U, 1U, 100U, 900U})
        for (const std::uint64_t send_buffer : {16U * 1024, 256U * 1024, 4U * 1024 * 1024})
            for (const std::uint64_t step : {1U, 1460U, 16U * 1024})
                EXPECT_EQ(fate_of({.rate = rate,
                                   .step = step,
                                   .send_buffer = send_buffer,
                                   .size = 8U * 1024 * 1024},
                                  rule),
                          Fate::is_cut)
                    << rate << " bytes/s in steps of " << step << ", send buffer " << send_buffer;
}

TEST(ReadingPace, LetsAReaderThatWasQuickRestUntilWhatItIsAheadIsUsedUp) {
    struct Case {
        RateRule rule;
        Held held;
        Duration rest;
    };
    const RateRule low{.per_second = Bytes{1024}, .window = 10s};
    const RateRule high{.per_second = Bytes{64 * 1024}, .window = 10s};
    for (const auto& [by, held, rest] :
         {Case{low, Held::answer, 522s}, Case{low, Held::lane, 40s}, Case{high, Held::answer, 40s},
          Case{high, Held::lane, 40s}}) {
        ReadingPace pace;
        Instant now{};
        pace.wrote(10'000'000);
        pace.start_clock(now);
        pace.look(1'000'000, by, now);
        const auto rests = [&](Duration time) {
            for (; time > 0s; time -= 1s) pace.look(1'000'000, by, now += 1s);
        };
        rests(rest);
        EXPECT_FALSE(pace.is_too_slow(by, held));
        rests(1s);
        EXPECT_TRUE(pace.is_too_slow(by, held));
    }
}

TEST(ReadingPace, DoesNotCountTimeInWhichNothingWaitedForTheClient) {
    ReadingPace pace;
    Instant now{};
    pace.wrote(1'000'000);
    pace.start_clock(now);
    pace.stop_clock(now += 5s);
    for (int i = 0; i < 100; ++i) pace.look(900'000, rule, now += 5s);
    EXPECT_FALSE(pace.is_too_slow(rule, Held::answer));
}

TEST(ReadingPace, DoesNotBlameTheClientForALookThatComesLate) {
    ReadingPace pace;
    Instant now{};
    pace.wrote(1'000'000);
    pace.start_clock(now);
    pace.look(1'000'000, rule, now += 1h);  // the gate was stopped
    EXPECT_FALSE(pace.is_too_slow(rule, Held::answer));
}

TEST(ReadingPace, AcceptsEverybodyWithoutAMinimum) {
    const RateRule none{.per_second = Bytes{0}, .window = 1s};
    ReadingPace pace;
    Instant now{};
    pace.wrote(1'000'000);
    pace.start_clock(now);
    for (int i = 0; i < 1000; ++i) pace.look(1'000'000, none, now += 1h);
    EXPECT_FALSE(pace.is_too_slow(none, Held::answer));
}

TEST(ReadingPace, ForgivesAClientThatHasTakenEverything) {
    ReadingPace pace;
    Instant now{};
    pace.wrote(1000);
    pace.start_clock(now);
    for (int i = 0; i < 4; ++i) pace.look(1000, rule, now += 2s);
    pace.look(0, rule, now);
    pace.wrote(1000);
    for (int i = 0; i < 4; ++i) pace.look(1000, rule, now += 2500ms);
    EXPECT_FALSE(pace.is_too_slow(rule, Held::answer));
    EXPECT_EQ(pace.unseen(), 1000U);
}

TEST(ReadingPace, RanksASleeperBelowAReaderAndBelowANewcomer) {
    Instant now{};
    ReadingPace sleeper;
    ReadingPace reader;
    ReadingPace newcomer;
    for (ReadingPace* pace : {&sleeper, &reader, &newcomer}) {
        pace->wrote(100'000'000);
        pace->begin_answer();
        pace->start_clock(now);
    }
    for (std::size_t i = 1; i <= 10; ++i) {
        now += 1s;
        sleeper.look(99'000'000, rule, now);
        reader.look(99'000'000 - i * 100'000, rule, now);
    }
    EXPECT_LT(sleeper.rate(), reader.rate());
    EXPECT_LT(sleeper.rate(), newcomer.rate());
}

}  // namespace
}  // namespace turnpike
