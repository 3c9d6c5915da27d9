#include "supervisor/http/http_attempt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/stream/disk.h"
#include "tests/unit/supervisor/acting_reader.h"
#include "tests/unit/supervisor/http/scripted_worker.h"

namespace turnpike {
namespace {

struct Stand : Disk {
    ScriptedWorker worker{loop};
    Exchanges exchanges{loop.wakeups()};
    Clock clock;
    std::vector<Event> events;
    Deliver deliver = [this](const Event& event) { events.push_back(event); };
    HttpAttempt::Host host{
        .worker = WorkerId{1},
        .store = store,
        .clock = clock,
        .deliver = deliver,
        .ended = [this](HttpAttempt& ended) { exchanges.drop(ended.take_exchange()); }};
    SocketDialer dialer{loop.context()};
    LoopAlarms alarms{loop.context()};
    HttpAttempt attempt{
        host, {.dialer = dialer, .alarms = alarms, .store = store}, worker.destination};
    ExchangePtr exchange = exchanges.open(JobId{0});
    ActingReader reader;

    void start(std::string_view method = "GET", std::uint32_t number = 1) {
        exchange->method = method;
        exchange->target = "/path?query";
        exchange->fields = "Host: client\r\n";
        exchange->answer.set_reader(&reader);
        attempt.start(exchanges.begin_attempt(JobId{0}, AttemptId{7}, Generation{1}, clock.now()),
                      AttemptId{7}, number, "/prefix");
    }
    ScriptedWorker::Visit& heard(std::size_t connection = 0) {
        return worker.heard(connection, "\r\n\r\n");
    }
    /// Runs one attempt to its end on this connection, which stays open.
    void answer_one(std::size_t connection) {
        start();
        ScriptedWorker::Visit& visit = heard(connection);
        visit.got.clear();
        visit.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        finish();
        EXPECT_TRUE(attempt.link().is_idle());
        events.clear();
    }

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

TEST(HttpAttempt, WritesTheRequestAnew) {
    Stand stand;
    stand.start("GET", 3);
    EXPECT_EQ(stand.heard().got,
              "GET /prefix/path?query HTTP/1.1\r\nHost: client\r\nTurnpike-Attempt: 3\r\n\r\n");
}

TEST(HttpAttempt, HoldsAShortAnswerUntilItIsWhole) {
    Stand stand;
    int told = 0;
    stand.reader.act = [&] { ++told; };
    stand.start();
    stand.heard().say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhel");
    EXPECT_TRUE(stand.loop.run_until([&] { return stand.exchange->answer.front() == "hel"; }));
    EXPECT_EQ(stand.exchange->answer.state(), AnswerState::held);
    EXPECT_EQ(told, 0);
    EXPECT_FALSE(stand.has_begun()) << "it can still be repeated";
    stand.heard().say("lo");
    stand.finish();
    EXPECT_EQ(stand.verdict(), Verdict::answered);
    EXPECT_EQ(stand.exchange->answer.front(), "hello");
    EXPECT_EQ(stand.exchange->answer.head().fields, "X: y\r\n");
    EXPECT_TRUE(stand.attempt.link().is_idle());
}

TEST(HttpAttempt, LetsALongAnswerFlow) {
    Stand stand;
    stand.start();
    stand.heard().say("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\nhello");
    EXPECT_TRUE(stand.loop.run_until([&] { return stand.exchange->answer.front() == "hello"; }));
    EXPECT_EQ(stand.exchange->answer.state(), AnswerState::flowing);
    EXPECT_TRUE(stand.has_begun());
}

TEST(HttpAttempt, LetsAnAnswerOfUnknownLengthFlow) {
    Stand stand;
    stand.start();
    stand.heard().say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT_TRUE(stand.loop.run_until([&] { return stand.has_begun(); }));
    stand.heard().say("2\r\nok\r\n0\r\n\r\n");
    stand.finish();
    EXPECT_EQ(stand.exchange->answer.state(), AnswerState::complete);
    EXPECT_EQ(stand.exchange->answer.front(), "ok");
}

TEST(HttpAttempt, JudgesAnAnswerByItsStatus) {
    const std::vector<std::pair<std::string, Verdict>> rows{
        {"200", Verdict::answered},     {"302", Verdict::answered},
        {"399", Verdict::answered},     {"400", Verdict::bad_input},
        {"499", Verdict::bad_input},    {"500", Verdict::model_failed},
        {"503", Verdict::model_failed}, {"599", Verdict::model_failed}};
    for (const auto& [status, verdict] : rows) {
        Stand stand;
        stand.start();
        stand.heard().say("HTTP/1.1 " + status + " x\r\nContent-Length: 0\r\n\r\n");
        stand.finish();
        EXPECT_EQ(stand.verdict(), verdict) << status;
    }
}

TEST(HttpAttempt, DropsFieldsThatAreOfTheConnectionOrOurs) {
    Stand stand;
    stand.start();
    stand.heard().say(
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: timeout=5\r\nConnection: X-Hop\r\n"
        "X-Hop: 1\r\nTurnpike-Job: forged\r\nX-Kept: 2\r\n\r\n");
    stand.finish();
    EXPECT_EQ(stand.exchange->answer.head().fields, "X-Kept: 2\r\n");
}

TEST(HttpAttempt, TellsTheLengthThatAHeadWouldHave) {
    Stand stand;
    stand.start("HEAD");
    stand.heard().say("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
    stand.finish();
    EXPECT_FALSE(stand.exchange->answer.head().has_body);
    EXPECT_EQ(stand.exchange->answer.head().fields, "Content-Length: 500\r\n");
}

TEST(HttpAttempt, TellsApartWhatTheWorkerNeverSawAndWhatBroke) {
    Stand refused;
    refused.worker.close_door();
    refused.start();
    refused.finish();
    EXPECT_EQ(refused.verdict(), Verdict::undelivered);
    EXPECT_EQ(refused.exchange->attempt.trouble.cause, Cause::refused);
    EXPECT_EQ(refused.exchange->answer.state(), AnswerState::none);

    Stand broken;
    broken.start();
    broken.heard().hang_up();
    broken.finish();
    EXPECT_EQ(broken.verdict(), Verdict::broken);
    EXPECT_EQ(broken.exchange->attempt.trouble, Trouble{.cause = Cause::no_answer});
}

TEST(HttpAttempt, TellsWhichRuleOfHttpTheAnswerBroke) {
    Stand stand;
    stand.start();
    stand.heard().say("nonsense\r\n\r\n");
    stand.finish();
    const Trouble& trouble = stand.exchange->attempt.trouble;
    EXPECT_EQ(trouble.cause, Cause::not_valid_http);
    EXPECT_NE(trouble.told, "");
    EXPECT_EQ(trouble.said, "");
}

TEST(HttpAttempt, IsStaleIfAReusedConnectionEndsWithoutAnAnswer) {
    Stand stand;
    stand.answer_one(0);
    stand.start();
    stand.heard().hang_up();
    stand.finish();
    EXPECT_EQ(stand.verdict(), Verdict::stale);
    EXPECT_EQ(stand.worker.visits.size(), 1U) << "only the engine sends it again";

    stand.events.clear();
    stand.start("GET", 2);
    EXPECT_EQ(stand.exchange->attempt.trouble, Trouble{}) << "of the first attempt";
    stand.heard(1).hang_up();
    stand.finish();
    EXPECT_EQ(stand.verdict(), Verdict::broken) << "that was a new connection";
}

TEST(HttpAttempt, UsesANewConnectionForASecondAttempt) {
    Stand stand;
    stand.answer_one(0);
    stand.start("GET", 2);
    EXPECT_TRUE(stand.heard(1).got.contains("Turnpike-Attempt: 2\r\n"));
    EXPECT_EQ(stand.worker.visits[0]->got, "");
}

TEST(HttpAttempt, UsesANewConnectionForAnAside) {
    Stand stand;
    stand.answer_one(0);
    stand.exchange->is_aside = true;
    stand.start();
    stand.heard(1).hang_up();
    stand.finish();
    EXPECT_EQ(stand.verdict(), Verdict::broken) << "an aside is never stale";
}

TEST(HttpAttempt, CanBeRepeatedAfterAHeldAnswerBroke) {
    Stand stand;
    stand.start();
    stand.heard().say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
    stand.heard().hang_up();
    stand.finish();
    EXPECT_EQ(stand.verdict(), Verdict::broken);
    stand.events.clear();
    stand.start("GET", 2);
    stand.worker.heard(1, "Attempt: 2\r\n\r\n")
        .say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nworld");
    stand.finish();
    EXPECT_EQ(stand.verdict(), Verdict::answered);
    EXPECT_EQ(stand.exchange->answer.front(), "world");
}

TEST(HttpAttempt, BreaksAFlowingAnswerWhenItIsStopped) {
    Stand stand;
    stand.start();
    stand.heard().say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
    EXPECT_TRUE(stand.loop.run_until([&] { return stand.exchange->answer.front() == "ok"; }));
    EXPECT_EQ(stand.attempt.stop(), stand.exchange);
    EXPECT_EQ(stand.exchange->answer.state(), AnswerState::broken);
    EXPECT_EQ(stand.attempt.stop(), nullptr);
    EXPECT_TRUE(stand.loop.run_until([&] { return stand.worker.visits[0]->is_over; }));
    EXPECT_FALSE(stand.verdict()) << "the engine hears nothing";
}

TEST(HttpAttempt, StopsReadingWhenNobodyTakesItsAnswerAndGoesOnWhenSomebodyDoes) {
    Stand stand;
    stand.store.memory_max = 50'000;
    stand.store.step = 20'000;
    stand.store.answer_max = 200'000;
    stand.start();
    ScriptedWorker::Visit& visit = stand.heard();
    visit.socket.non_blocking(true);
    visit.say("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n");
    const std::string block(65536, 'x');
    std::size_t said = 0;
    boost::system::error_code error;
    for (int stuck = 0; stuck < 100;) {
        const std::size_t size = visit.socket.write_some(boost::asio::buffer(block), error);
        said += size;
        stuck = size == 0 ? stuck + 1 : 0;
        stand.settle();
    }
    EXPECT_LT(said, 100'000'000U) << "back-pressure reached the worker";
    std::size_t taken = 0;
    EXPECT_TRUE(stand.loop.run_until([&] {
        const std::size_t size = stand.exchange->answer.front().size();
        if (size > 0) stand.exchange->answer.consume(stand.store, size);
        taken += size;
        return taken == said;
    })) << taken
        << " of " << said;
}

}  // namespace
}  // namespace turnpike
