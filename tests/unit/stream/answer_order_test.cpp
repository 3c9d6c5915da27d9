// Whatever way the bytes of an answer take, through memory or through the ring on disk, they arrive
// in order and complete: random sizes against a plain string.
#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "tests/unit/stream/answer_ends.h"

namespace turnpike {
namespace {

struct Play {
    std::uint64_t seed;
    std::size_t memory_max;
    std::size_t step;
    std::size_t answer_max;
    unsigned reads_percent;  // the rest are writes
};

/// A writer that obeys, a reader of moods, and a disk that comes back now or later.
class Player : public Passage {
public:
    explicit Player(const Play& play) : play_(play), random_(play.seed) {
        store.memory_max = play.memory_max;
        store.step = play.step;
        store.answer_max = play.answer_max;
    }

    void pass(std::size_t bytes) {
        begin_flow();
        while (sent_.size() < bytes && !testing::Test::HasFailure()) {
            if (random_.chance(play_.reads_percent))
                read(1 + random_.below(2 * play_.step));
            else
                write();
            if (random_.chance(20))
                settle();
            else if (random_.chance(30))
                loop.poll();
            ASSERT_TRUE(is_bounded());
        }
        answer->complete();
        read_all();
        EXPECT_EQ(reader.got == sent_, true) << "seed " << play_.seed;
    }

private:
    void write() {
        if (waits_ && writer.told == told_) return;
        waits_ = false;
        waits_ = append_as_sent(sent_, 1 + random_.below(play_.step)) == Answer::Room::wait;
        told_ = writer.told;
        waited_ += waits_ ? 1 : 0;
    }
    [[nodiscard]] bool is_bounded() const {
        return sent_.size() - reader.got.size() <=
               play_.answer_max + play_.memory_max + 4 * play_.step;
    }

    const Play play_;
    Random random_;
    std::string sent_;
    bool waits_ = false;
    int told_ = 0;

public:
    int waited_ = 0;
};

TEST(AnswerOrder, HoldsWhenTheReaderIsSlow) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Player player({seed, 100, 30, 200, 30});
        player.pass(5000);
        EXPECT_GT(player.waited_, 0) << "the ring was never full, seed " << seed;
    }
}

TEST(AnswerOrder, HoldsWhenTheReaderIsFast) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Player player({seed, 100, 30, 200, 70});
        player.pass(5000);
    }
}

TEST(AnswerOrder, HoldsWhereTheRingWrapsAtOddPlaces) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Player player({seed, 10, 7, 31, 45});
        player.pass(3000);
    }
}

TEST(AnswerOrder, HoldsWhenTheRingIsSmallerThanAStep) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Player player({seed, 50, 40, 25, 45});
        player.pass(3000);
    }
}

TEST(AnswerOrder, HoldsWithoutADisk) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Player player({seed, 100, 30, 200, 45});
        player.take_away();
        player.pass(5000);
    }
}

}  // namespace
}  // namespace turnpike
