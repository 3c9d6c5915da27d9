#include "supervisor/http/ride.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/stream/disk.h"
#include "tests/unit/supervisor/http/scripted_worker.h"

namespace turnpike {
namespace {

struct ActingReader final : AnswerReader {
    std::function<void()> act = [] {};
    void answer_moved() override { act(); }
};

struct Trip : Disk {
    ScriptedWorker worker{loop};
    Exchanges exchanges;
    Clock clock;
    std::vector<Event> events;
    Deliver deliver = [this](const Event& event) { events.push_back(event); };
    Ride::Host host{.worker = WorkerId{1},
                    .store = store,
                    .clock = clock,
                    .deliver = deliver,
                    .ended = [this](Ride& ended) { exchanges.drop(ended.take_exchange()); }};
    Ride ride{host, std::make_shared<Link>(loop.context(), worker.destination, store, clock)};
    ExchangePtr exchange = exchanges.open(JobId{0});
    ActingReader reader;

    void start(std::string_view method = "GET", std::uint32_t number = 1) {
        exchange->method = method;
        exchange->target = "/path?query";
        exchange->fields = "Host: client\r\n";
        exchange->answer.set_reader(&reader);
        ride.start(exchange, AttemptId{7}, number, "/prefix");
    }
    ScriptedWorker::Visit& heard() { return worker.heard(0, "\r\n\r\n"); }

    [[nodiscard]] std::optional<Verdict> verdict() const {
        for (const Event& event : events)
            if (const auto* ended = std::get_if<AttemptEnded>(&event)) return ended->verdict;
        return std::nullopt;
    }
    [[nodiscard]] bool has_begun() const {
        return std::ranges::any_of(
            events, [](const Event& event) { return std::holds_alternative<AnswerBegun>(event); });
    }
    void finish() {
        EXPECT_TRUE(loop.run_until([&] { return verdict().has_value(); }));
    }
};

TEST(Ride, WritesTheRequestAnew) {
    Trip trip;
    trip.start("GET", 3);
    EXPECT_EQ(trip.heard().got,
              "GET /prefix/path?query HTTP/1.1\r\nHost: client\r\nTurnpike-Attempt: 3\r\n\r\n");
}

TEST(Ride, HoldsAShortAnswerUntilItIsWhole) {
    Trip trip;
    int told = 0;
    trip.reader.act = [&] { ++told; };
    trip.start();
    trip.heard().say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhel");
    EXPECT_TRUE(trip.loop.run_until([&] { return trip.exchange->answer.front() == "hel"; }));
    EXPECT_EQ(trip.exchange->answer.state(), AnswerState::held);
    EXPECT_EQ(told, 0);
    EXPECT_FALSE(trip.has_begun()) << "it can still be repeated";
    trip.heard().say("lo");
    trip.finish();
    EXPECT_EQ(trip.verdict(), Verdict::answered);
    EXPECT_EQ(trip.exchange->answer.front(), "hello");
    EXPECT_EQ(trip.exchange->answer.head().fields, "X: y\r\n");
    EXPECT_TRUE(trip.ride.link().is_idle());
}

TEST(Ride, LetsALongAnswerFlow) {
    Trip trip;
    trip.start();
    trip.heard().say("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\nhello");
    EXPECT_TRUE(trip.loop.run_until([&] { return trip.exchange->answer.front() == "hello"; }));
    EXPECT_EQ(trip.exchange->answer.state(), AnswerState::flowing);
    EXPECT_TRUE(trip.has_begun());
}

TEST(Ride, LetsAnAnswerOfUnknownLengthFlow) {
    Trip trip;
    trip.start();
    trip.heard().say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT_TRUE(trip.loop.run_until([&] { return trip.has_begun(); }));
    trip.heard().say("2\r\nok\r\n0\r\n\r\n");
    trip.finish();
    EXPECT_EQ(trip.exchange->answer.state(), AnswerState::complete);
    EXPECT_EQ(trip.exchange->answer.front(), "ok");
}

TEST(Ride, JudgesAnAnswerByItsStatus) {
    const std::vector<std::pair<std::string, Verdict>> rows{
        {"200", Verdict::answered},     {"302", Verdict::answered},
        {"399", Verdict::answered},     {"400", Verdict::bad_input},
        {"499", Verdict::bad_input},    {"500", Verdict::model_failed},
        {"503", Verdict::model_failed}, {"599", Verdict::model_failed}};
    for (const auto& [status, verdict] : rows) {
        Trip trip;
        trip.start();
        trip.heard().say("HTTP/1.1 " + status + " x\r\nContent-Length: 0\r\n\r\n");
        trip.finish();
        EXPECT_EQ(trip.verdict(), verdict) << status;
    }
}

TEST(Ride, DropsFieldsThatAreOfTheConnectionOrOurs) {
    Trip trip;
    trip.start();
    trip.heard().say(
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: timeout=5\r\nConnection: X-Hop\r\n"
        "X-Hop: 1\r\nTurnpike-Job: forged\r\nX-Kept: 2\r\n\r\n");
    trip.finish();
    EXPECT_EQ(trip.exchange->answer.head().fields, "X-Kept: 2\r\n");
}

TEST(Ride, TellsTheLengthThatAHeadWouldHave) {
    Trip trip;
    trip.start("HEAD");
    trip.heard().say("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
    trip.finish();
    EXPECT_FALSE(trip.exchange->answer.head().has_body);
    EXPECT_EQ(trip.exchange->answer.head().fields, "Content-Length: 500\r\n");
}

TEST(Ride, TellsApartWhatTheWorkerNeverSawAndWhatBroke) {
    Trip refused;
    refused.worker.close_door();
    refused.start();
    refused.finish();
    EXPECT_EQ(refused.verdict(), Verdict::undelivered);
    EXPECT_EQ(refused.exchange->answer.state(), AnswerState::none);

    Trip broken;
    broken.start();
    broken.heard().hang_up();
    broken.finish();
    EXPECT_EQ(broken.verdict(), Verdict::broken);
}

TEST(Ride, CanBeRepeatedAfterAHeldAnswerBroke) {
    Trip trip;
    trip.start();
    trip.heard().say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
    trip.heard().hang_up();
    trip.finish();
    EXPECT_EQ(trip.verdict(), Verdict::broken);
    trip.events.clear();
    trip.start("GET", 2);
    trip.worker.heard(1, "Attempt: 2\r\n\r\n")
        .say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nworld");
    trip.finish();
    EXPECT_EQ(trip.verdict(), Verdict::answered);
    EXPECT_EQ(trip.exchange->answer.front(), "world");
}

TEST(Ride, BreaksAFlowingAnswerWhenItIsStopped) {
    Trip trip;
    trip.start();
    trip.heard().say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
    EXPECT_TRUE(trip.loop.run_until([&] { return trip.exchange->answer.front() == "ok"; }));
    EXPECT_EQ(trip.ride.stop(), trip.exchange);
    EXPECT_EQ(trip.exchange->answer.state(), AnswerState::broken);
    EXPECT_EQ(trip.ride.stop(), nullptr);
    EXPECT_TRUE(trip.loop.run_until([&] { return trip.worker.visits[0]->is_over; }));
    EXPECT_FALSE(trip.verdict()) << "the engine hears nothing";
}

TEST(Ride, StopsReadingWhenNobodyTakesItsAnswerAndGoesOnWhenSomebodyDoes) {
    Trip trip;
    trip.store.memory_max = 50'000;
    trip.store.step = 20'000;
    trip.store.answer_max = 200'000;
    trip.start();
    ScriptedWorker::Visit& visit = trip.heard();
    visit.socket.non_blocking(true);
    visit.say("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n");
    const std::string block(65536, 'x');
    std::size_t said = 0;
    boost::system::error_code error;
    for (int stuck = 0; stuck < 100;) {
        const std::size_t size = visit.socket.write_some(boost::asio::buffer(block), error);
        said += size;
        stuck = size == 0 ? stuck + 1 : 0;
        trip.settle();
    }
    EXPECT_LT(said, 100'000'000U) << "back-pressure reached the worker";
    std::size_t taken = 0;
    EXPECT_TRUE(trip.loop.run_until([&] {
        const std::size_t size = trip.exchange->answer.front().size();
        if (size > 0) trip.exchange->answer.consume(trip.store, size);
        taken += size;
        return taken == said;
    })) << taken
        << " of " << said;
}

TEST(Ride, MayBeStoppedByWhoReadsTheBeginningOfAnAnswer) {
    Trip trip;
    trip.reader.act = [&] { trip.ride.stop(); };
    trip.start();
    trip.heard().say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
    EXPECT_TRUE(trip.loop.run_until([&] { return trip.worker.visits[0]->is_over; }));
    EXPECT_TRUE(trip.events.empty());
}

TEST(Ride, MayBeStoppedByWhoReadsAPieceOfAnAnswer) {
    Trip trip;
    trip.reader.act = [&] {
        if (!trip.exchange->answer.front().empty()) trip.ride.stop();
    };
    trip.start();
    trip.heard().say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
    EXPECT_TRUE(trip.loop.run_until([&] { return trip.worker.visits[0]->is_over; }));
    EXPECT_FALSE(trip.verdict());
}

TEST(Ride, MayBeStoppedByWhoReadsTheEndOfAnAnswer) {
    Trip trip;
    trip.reader.act = [&] {
        if (trip.exchange->answer.state() == AnswerState::complete) trip.ride.stop();
    };
    trip.start();
    trip.heard().say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    EXPECT_TRUE(trip.loop.run_until([&] { return trip.worker.visits[0]->is_over; }));
    EXPECT_FALSE(trip.verdict());
}

TEST(Ride, MayBeStoppedByWhoReadsThatAnAnswerBroke) {
    Trip trip;
    bool is_stopped = false;
    trip.reader.act = [&] {
        if (trip.exchange->answer.state() != AnswerState::broken) return;
        trip.ride.stop();
        is_stopped = true;
    };
    trip.start();
    trip.heard().say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz");
    EXPECT_TRUE(trip.loop.run_until([&] { return is_stopped; }));
    EXPECT_FALSE(trip.verdict());
}

TEST(Ride, GoesOnWhenItsAnswerIsAbandonedJustAsItShouldWait) {
    Trip trip;
    trip.take_away();  // so that the writer must wait soon
    trip.deliver = [&](const Event& event) {
        trip.events.push_back(event);
        if (std::holds_alternative<AnswerMoved>(event)) trip.exchange->answer.abandon();
    };
    trip.start();
    ScriptedWorker::Visit& visit = trip.heard();
    visit.say("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
    EXPECT_TRUE(trip.loop.run_until([&] { return trip.has_begun(); }));
    boost::asio::steady_timer timer(trip.loop.context(), std::chrono::milliseconds(300));
    bool is_later = false;
    timer.async_wait([&](boost::system::error_code) { is_later = true; });
    EXPECT_TRUE(trip.loop.run_until([&] { return is_later; }));
    trip.clock.forget();
    visit.say(numbered(300));  // told to wait, and AnswerMoved is due
    EXPECT_TRUE(trip.loop.run_until([&] { return trip.events.size() > 1; }));
    visit.say(numbered(200));
    trip.finish();
    EXPECT_EQ(trip.verdict(), Verdict::answered);
}

}  // namespace
}  // namespace turnpike
