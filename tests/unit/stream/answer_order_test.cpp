// The bytes of an answer arrive complete and in order, through memory and through the ring on disk.
// Random reads and writes are compared with a plain string.
#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "tests/unit/stream/answer_fixture.h"

namespace turnpike {
namespace {

struct TransferMix {
    std::uint64_t seed;
    std::size_t memory_max;
    std::size_t step;
    std::size_t answer_max;
    unsigned reads_percent;  // the rest are writes
};

/// A writer that waits when told to, a reader that reads at random, and a disk that finishes at
/// once or later.
class RandomTransfer : public AnswerFixture {
public:
    explicit RandomTransfer(const TransferMix& mix) : mix_(mix), random_(mix.seed) {
        store.memory_max = mix.memory_max;
        store.step = mix.step;
        store.answer_max = mix.answer_max;
    }

    void pass(std::size_t bytes) {
        begin_flow();
        while (sent_.size() < bytes && !testing::Test::HasFailure()) {
            if (random_.chance(mix_.reads_percent))
                read(1 + random_.below(2 * mix_.step));
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
        EXPECT_EQ(reader.got == sent_, true) << "seed " << mix_.seed;
    }

private:
    void write() {
        if (waits_ && writer.told == told_) return;
        waits_ = false;
        waits_ = append_as_sent(sent_, 1 + random_.below(mix_.step)) == Answer::Room::wait;
        told_ = writer.told;
        waited_ += waits_ ? 1 : 0;
    }
    [[nodiscard]] bool is_bounded() const {
        return sent_.size() - reader.got.size() <=
               mix_.answer_max + mix_.memory_max + 4 * mix_.step;
    }

    const TransferMix mix_;
    Random random_;
    std::string sent_;
    bool waits_ = false;
    int told_ = 0;

public:
    int waited_ = 0;
};

TEST(AnswerOrder, HoldsWhenTheReaderIsSlow) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        RandomTransfer transfer({seed, 100, 30, 200, 30});
        transfer.pass(5000);
        EXPECT_GT(transfer.waited_, 0) << "the ring was never full, seed " << seed;
    }
}

TEST(AnswerOrder, HoldsWhenTheReaderIsFast) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        RandomTransfer transfer({seed, 100, 30, 200, 70});
        transfer.pass(5000);
    }
}

TEST(AnswerOrder, HoldsWhereTheRingWrapsAtOddPlaces) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        RandomTransfer transfer({seed, 10, 7, 31, 45});
        transfer.pass(3000);
    }
}

TEST(AnswerOrder, HoldsWhenTheRingIsSmallerThanAStep) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        RandomTransfer transfer({seed, 50, 40, 25, 45});
        transfer.pass(3000);
    }
}

TEST(AnswerOrder, HoldsWithoutADisk) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        RandomTransfer transfer({seed, 100, 30, 200, 45});
        transfer.remove_folder();
        transfer.pass(5000);
    }
}

}  // namespace
}  // namespace turnpike
