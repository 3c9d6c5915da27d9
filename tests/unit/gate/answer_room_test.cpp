// Who loses an answer when the disk has no room for the answers that wait, and their workers wait.
#include "gate/answer_room.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <memory>
#include <string>

#include "tests/unit/fake_transport.h"
#include "tests/unit/gate/gate_fixture.h"

namespace turnpike {
namespace {

constexpr std::size_t piece = 256 * 1024;

Config without_minimum() {
    Config config{.pools = {PoolConfig{.name = "only"}}};
    config.gate.answer_rate_min = Bytes{0};
    return config;
}

/// A client that reads as much as the test says, and the answer to its job.
struct Reading {
    std::shared_ptr<FakePeer> peer;
    ExchangePtr exchange;

    [[nodiscard]] bool waits_for_disk() const { return exchange->answer.waits_for_disk(); }
};

struct SmallDisk : GateFixture {
    SmallDisk() : GateFixture(without_minimum()) { time = clock.now(); }
    ~SmallDisk() {
        for (Reading& one : all) {
            if (one.exchange->answer.state() == AnswerState::flowing)
                one.exchange->answer.break_off();
            one.exchange = nullptr;
            one.peer->end = InputEnd::broken;
            one.peer->is_gone = true;
            one.peer->run();
        }
        settle();
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

    /// Begins an answer to a client that takes nothing yet.
    Reading& begin(std::string address) {
        const auto peer = std::make_shared<FakePeer>();
        gate.add_connection(
            std::make_unique<FakeTransport>(peer),
            {.entrance = Entrance::tcp, .address = std::move(address), .text = "reader"});
        peer->says = "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n";
        peer->run();
        loop.turn();
        Reading& one = all.emplace_back(peer, queued());
        peer->room = 0;
        AnswerHead& head = one.exchange->answer.start(&writer);
        head = {.status = 200, .fields = {}, .has_length = true, .length = 64 * mebibyte.count};
        one.exchange->answer.flow();
        loop.turn();
        return one;
    }
    /// Writes pieces until the worker would have to wait, but at most `pieces`.
    void write(Reading& one, int pieces) {
        for (int i = 0; i < pieces; ++i) {
            if (one.waits_for_disk()) return;
            one.exchange->answer.append(store, std::string(piece, 'x'));
            settle();
        }
    }
    /// From now on no further answer gets a file. Those that have one can go on.
    void fill_disk() { store.folder = folder.file("nowhere"); }
    void free_disk() { store.folder = folder.file(""); }

    void settle() {
        bool is_done = false;
        background.run([] { return 0; }, [&](int) { is_done = true; });
        EXPECT_TRUE(loop.run_until([&] { return is_done; }));
        loop.turn();
    }
    /// Lets clients read, and passes the time until the next look.
    void look(std::size_t more = 0) {
        for (Reading& one : all) {
            one.peer->room += more;
            one.peer->run();
        }
        settle();
        *time += AnswerRoom::look_every;
        clock.forget();
        gate.tick();
        settle();
    }

    std::deque<Reading> all;
};

TEST(AnswerRoom, CutsTheSlowestReaderOfTheClientThatHoldsMostOfTheDisk) {
    SmallDisk gate;
    Reading& quick = gate.begin("10.0.0.1");
    Reading& slow = gate.begin("10.0.0.1");
    Reading& small = gate.begin("10.0.0.2");
    gate.write(quick, 10);
    gate.write(slow, 10);
    gate.write(small, 8);
    quick.peer->room = piece;
    quick.peer->run();
    EXPECT_GT(small.exchange->answer.share().spooled, 0U);
    gate.fill_disk();
    Reading& honest = gate.begin("10.0.0.3");
    gate.write(honest, 20);
    ASSERT_TRUE(honest.waits_for_disk()) << "its worker holds a lane";
    gate.look();
    EXPECT_FALSE(slow.peer->is_closed) << "it has waited for a moment only";
    gate.look();
    EXPECT_TRUE(slow.peer->is_closed);
    ASSERT_TRUE(honest.waits_for_disk()) << "the disk needs a moment to have its room back";
    gate.free_disk();
    gate.look();
    EXPECT_FALSE(honest.waits_for_disk());
    EXPECT_GT(honest.exchange->answer.share().spooled, 0U) << "it has the room now";
    for (const Reading* one : {&quick, &small, &honest}) EXPECT_FALSE(one->peer->is_closed);
    EXPECT_TRUE(std::ranges::any_of(gate.events, [](const Event& event) {
        const auto* left = std::get_if<ClientLeft>(&event);
        return left != nullptr && left->why == Departure::answers_full;
    }));
}

TEST(AnswerRoom, CutsOneAfterTheOtherUntilThereIsRoom) {
    SmallDisk gate;
    for (int i = 0; i < 3; ++i) gate.write(gate.begin("10.0.0.1"), 10);
    gate.fill_disk();
    gate.write(gate.begin("10.0.0.3"), 20);
    const auto closed = [&] {
        return std::ranges::count_if(gate.all,
                                     [](const Reading& one) { return one.peer->is_closed; });
    };
    gate.look();
    for (int cuts = 1; cuts <= 3; ++cuts) {
        gate.look();
        EXPECT_EQ(closed(), cuts);
        gate.look();
        EXPECT_EQ(closed(), cuts);
    }
    EXPECT_FALSE(gate.all.back().peer->is_closed);
}

TEST(AnswerRoom, CutsNobodyWhileReadersTakeEnough) {
    SmallDisk gate;
    Reading& other = gate.begin("10.0.0.1");
    gate.write(other, 10);
    gate.fill_disk();
    Reading& honest = gate.begin("10.0.0.3");
    for (int i = 0; i < 10; ++i) {
        gate.write(honest, 20);
        EXPECT_TRUE(honest.waits_for_disk());
        gate.look(AnswerRoom::progress_min.count);
    }
    for (const Reading& one : gate.all) EXPECT_FALSE(one.peer->is_closed);
}

/// As long as it lives, no file may grow beyond this size.
class SmallFiles {
public:
    explicit SmallFiles(std::uint64_t most) {
        std::signal(SIGXFSZ, SIG_IGN);
        EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
        const rlimit small{.rlim_cur = most, .rlim_max = before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    }
    ~SmallFiles() { EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0); }
    SmallFiles(const SmallFiles&) = delete;
    SmallFiles& operator=(const SmallFiles&) = delete;

private:
    rlimit before_{};
};

TEST(AnswerRoom, CutsNobodyForTheOnlyAnswerOnTheDisk) {
    SmallDisk gate;
    Reading& only = gate.begin("10.0.0.1");
    {
        const SmallFiles full(mebibyte.count);
        gate.write(only, 20);
        ASSERT_TRUE(only.waits_for_disk());
        ASSERT_GT(only.exchange->answer.share().spooled, 0U);
        for (int i = 0; i < 10; ++i) gate.look();
        EXPECT_TRUE(only.waits_for_disk());
        EXPECT_FALSE(only.peer->is_closed) << "no other answer would get the room";
    }
    Reading& other = gate.begin("10.0.0.2");
    gate.write(other, 8);
    const SmallFiles full(mebibyte.count);
    gate.write(only, 20);
    gate.look();
    gate.look();
    EXPECT_TRUE(only.peer->is_closed);
    EXPECT_FALSE(other.peer->is_closed);
}

TEST(AnswerRoom, CutsNobodyIfOthersThanAnswersHaveFilledTheDisk) {
    SmallDisk gate;
    gate.fill_disk();
    gate.write(gate.begin("10.0.0.1"), 20);
    gate.write(gate.begin("10.0.0.2"), 20);
    for (int i = 0; i < 10; ++i) gate.look();
    for (const Reading& one : gate.all) EXPECT_FALSE(one.peer->is_closed);
    gate.free_disk();
    gate.look();
    for (const Reading& one : gate.all) EXPECT_FALSE(one.waits_for_disk()) << "it is tried again";
}

}  // namespace
}  // namespace turnpike
