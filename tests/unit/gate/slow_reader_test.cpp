// Clients that read slowly, with a transport and a clock that the test moves.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/unit/fake_transport.h"
#include "tests/unit/gate/gate_fixture.h"

namespace turnpike {
namespace {

constexpr std::string_view get = "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr std::string_view last_get =
    "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// One client behind a fake transport. The minimum is 1 KiB/s, measured over 10 s.
struct SlowReader : GateFixture {
    SlowReader() {
        time = clock.now();
        peer = std::make_shared<FakePeer>();
        gate.add_connection(std::make_unique<FakeTransport>(peer),
                            {.entrance = Entrance::tcp, .address = "10.0.0.1", .text = "slow"});
    }
    ~SlowReader() {
        exchange = nullptr;
        peer->end = InputEnd::broken;
        go_on();
    }
    SlowReader(const SlowReader&) = delete;
    SlowReader& operator=(const SlowReader&) = delete;

    void say(std::string_view text) {
        peer->says += text;
        go_on();
    }
    void go_on() {
        peer->run();
        loop.turn();
        peer->run();
        loop.turn();
    }
    /// Begins to answer the latest job, and writes as much as there is room for.
    void begin_answer(std::size_t size) {
        exchange = exchanges.find(job);
        ASSERT_NE(exchange, nullptr);
        exchange->answer.start(&writer) = {
            .status = 200, .fields = {}, .has_length = true, .length = size};
        exchange->answer.flow();
        exchange->answer.append(store, std::string(size, 'x'));
        loop.turn();
    }
    void end_answer() {
        exchange->answer.complete();
        exchange = nullptr;
        end(job, EndReason::answered);
        go_on();
    }
    /// Lets time pass, with the looks of the gate in between.
    void wait(Duration duration) {
        for (; duration > 0s; duration -= 250ms) {
            *time += 250ms;
            clock.forget();
            gate.tick();
            go_on();
        }
    }
    /// Returns what the route answers.
    std::string page(std::string_view target) {
        Client& client = ask("GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        hear(client, "}\n");
        return client.got;
    }

    std::shared_ptr<FakePeer> peer;
    ExchangePtr exchange;
};

TEST(SlowReader, IsCutWhileItsJobStillRuns) {
    SlowReader slow;
    slow.say(get);
    slow.peer->room = 10'000;
    slow.begin_answer(500'000);
    slow.peer->unsent = 4'000;
    slow.wait(50s);
    EXPECT_TRUE(slow.peer->is_closed);
    EXPECT_EQ(slow.count<ClientLeft>(), 1);
    EXPECT_TRUE(std::ranges::any_of(slow.events, [](const Event& event) {
        const auto* left = std::get_if<ClientLeft>(&event);
        return left != nullptr && left->why == Departure::too_slow;
    }));
    EXPECT_EQ(slow.exchanges.answers().held(), Bytes{0}) << "at once, whatever the worker does";
    EXPECT_TRUE(slow.page("/-/jobs").contains("client_too_slow"));
}

TEST(SlowReader, IsCutSoonerWhileALaneWaitsForIt) {
    for (const bool is_lane_held : {false, true}) {
        SlowReader slow;
        slow.say(get);
        slow.peer->room = 400'000;
        slow.store.answer_max = is_lane_held ? 50'000 : 1'000'000;
        slow.begin_answer(500'000);
        EXPECT_EQ(slow.exchange->answer.holds_writer(), is_lane_held);
        slow.peer->unsent = 300'000;
        slow.wait(60s);
        EXPECT_EQ(slow.peer->is_closed, is_lane_held);
    }
}

TEST(SlowReader, IsRecordedAsCutAlsoIfTheWorkerHadFinished) {
    SlowReader slow;
    slow.say(get);
    slow.peer->room = 10'000;
    slow.begin_answer(500'000);
    slow.end_answer();
    slow.peer->unsent = 4'000;
    slow.wait(50s);
    EXPECT_TRUE(slow.peer->is_closed);
    const std::string jobs = slow.page("/-/jobs");
    EXPECT_TRUE(jobs.contains(R"("outcome":"cancelled","reason":"client_too_slow")")) << jobs;
    EXPECT_TRUE(jobs.contains("gate.answer_rate_min")) << jobs;
    EXPECT_FALSE(jobs.contains(R"("bytes_out":0,)")) << jobs;
}

TEST(SlowReader, GoesOnWhileItTakesEnoughAlthoughTheSocketIsFull) {
    SlowReader slow;
    slow.say(get);
    slow.peer->room = 400'000;
    slow.begin_answer(500'000);
    slow.peer->unsent = 400'000;
    for (int i = 0; i < 50; ++i) {
        slow.wait(3s);
        slow.peer->unsent -= 3 * 2'000;  // 2 kB/s
        ASSERT_FALSE(slow.peer->is_closed) << i;
    }
}

TEST(SlowReader, HasNotFinishedWhileMuchIsInTheSendBuffer) {
    SlowReader slow;
    slow.say(get);
    slow.peer->unsent = 300'000;
    slow.begin_answer(500'000);
    slow.end_answer();
    EXPECT_EQ(slow.exchanges.answers().held(), Bytes{0});
    EXPECT_FALSE(slow.page("/-/jobs").contains("finished"));
    slow.say(get);
    EXPECT_EQ(slow.next_job, 1U) << "the next request waits";
    slow.peer->unsent = 0;
    slow.wait(500ms);
    EXPECT_TRUE(slow.page("/-/jobs").contains(R"("outcome":"finished")"));
    EXPECT_EQ(slow.next_job, 2U);
}

TEST(SlowReader, GoesOnAtOnceIfItsNextRequestShowsThatItHasTakenAll) {
    SlowReader slow;
    slow.say(get);
    slow.peer->unsent = 300'000;
    slow.begin_answer(500'000);
    slow.end_answer();
    slow.peer->unsent = 0;
    slow.say(get);
    EXPECT_EQ(slow.next_job, 2U);
}

TEST(SlowReader, IsCutWhileItLeavesTheRestInTheSendBuffer) {
    SlowReader slow;
    slow.say(last_get);
    slow.peer->unsent = 300'000;
    slow.begin_answer(500'000);
    slow.end_answer();
    EXPECT_FALSE(slow.peer->is_closed);
    slow.wait(250s);
    EXPECT_TRUE(slow.peer->is_closed);
    EXPECT_TRUE(slow.page("/-/jobs").contains("client_too_slow"));
}

TEST(SlowReader, HasLeftIfItsSideBreaksWhileItDrains) {
    SlowReader slow;
    slow.say(get);
    slow.peer->unsent = 300'000;
    slow.begin_answer(500'000);
    slow.end_answer();
    slow.peer->is_gone = true;
    slow.wait(500ms);
    EXPECT_TRUE(slow.peer->is_closed);
    EXPECT_TRUE(slow.page("/-/jobs").contains(R"("outcome":"cancelled","reason":"client_left")"));
}

TEST(SlowReader, MayTakeTheLastBytesOfAClosingConnectionAtItsRate) {
    SlowReader slow;
    slow.say(last_get);
    slow.peer->says = "x";  // so that the gate waits for the client to close
    slow.begin_answer(500'000);
    slow.peer->unsent = 60'000;
    slow.end_answer();
    EXPECT_TRUE(slow.peer->is_output_ended);
    for (int i = 0; i < 20; ++i) {
        slow.wait(1s);
        slow.peer->unsent -= 2'000;
        ASSERT_FALSE(slow.peer->is_closed) << i;
    }
    slow.peer->unsent = 0;
    slow.wait(4s);
    EXPECT_TRUE(slow.peer->is_closed);
}

TEST(SlowReader, IsNotCutWhileNothingWaitsForIt) {
    SlowReader slow;
    slow.say(get);
    slow.exchange = slow.exchanges.find(slow.job);
    slow.exchange->answer.start(&slow.writer).status = 200;
    slow.exchange->answer.flow();
    slow.exchange->answer.append(slow.store, "data: 1\n\n");
    slow.go_on();
    slow.wait(600s);
    EXPECT_FALSE(slow.peer->is_closed);
    EXPECT_TRUE(slow.peer->heard.contains("data: 1"));
}

TEST(SlowReader, LosesItsAnswerWhenTheGateEnds) {
    SlowReader slow;
    slow.say(get);
    slow.peer->room = 10'000;
    slow.begin_answer(500'000);
    slow.end_answer();
    slow.gate.close_all();
    EXPECT_TRUE(slow.peer->is_closed);
    EXPECT_EQ(slow.exchanges.answers().held(), Bytes{0});
}

}  // namespace
}  // namespace turnpike
