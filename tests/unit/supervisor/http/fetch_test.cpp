#include "supervisor/http/fetch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "tests/unit/stream/disk.h"
#include "tests/unit/supervisor/http/scripted_worker.h"

namespace turnpike {
namespace {

struct Errand : Disk {
    ScriptedWorker worker{loop};
    SocketDialer dialer{loop.context()};
    LoopAlarms alarms{loop.context()};
    std::unique_ptr<Fetch> fetch = std::make_unique<Fetch>(
        LinkDeps{.dialer = dialer, .alarms = alarms, .store = store}, worker.destination);
    std::optional<Fetch::Result> result;
    int told = 0;

    void start(Duration timeout = 1h) {
        fetch->head() = "GET /health HTTP/1.1\r\nHost: w\r\nConnection: close\r\n\r\n";
        fetch->start(http::Method::get, timeout, [this](Fetch::Result got) {
            ++told;
            result = std::move(got);
        });
    }
    ScriptedWorker::Visit& heard(std::size_t connection = 0) {
        return worker.heard(connection, "\r\n\r\n");
    }
    void finish() {
        EXPECT_TRUE(loop.run_until([&] { return told > 0; }));
    }
    [[nodiscard]] std::optional<FetchFailure> failure() const {
        if (!result || result->has_value()) return std::nullopt;
        return result->error();
    }
};

TEST(Fetch, BringsStatusAndBody) {
    Errand errand;
    errand.start();
    errand.heard().say("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy");
    errand.finish();
    ASSERT_TRUE(errand.result->has_value());
    EXPECT_EQ((*errand.result)->status, 503);
    EXPECT_EQ((*errand.result)->body, "busy");
}

TEST(Fetch, SendsItsBody) {
    Errand errand;
    errand.fetch->body().append(errand.store, "proof", nullptr);
    errand.start();
    EXPECT_TRUE(errand.worker.heard(0, "proof").got.ends_with("\r\n\r\nproof"));
}

TEST(Fetch, CanBeUsedAgainAndForgetsTheLastAnswer) {
    Errand errand;
    errand.start();
    errand.heard(0).say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst");
    errand.finish();
    errand.told = 0;
    errand.start();
    errand.heard(1).say("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond");
    errand.finish();
    EXPECT_EQ((*errand.result)->body, "second");
}

TEST(Fetch, GivesUpWhenItsTimeIsOver) {
    Errand errand;
    errand.start(1ms);
    errand.finish();
    EXPECT_EQ(errand.failure(), FetchFailure::late);
}

TEST(Fetch, IsLateAlsoInTheMiddleOfAnAnswer) {
    Errand errand;
    errand.start(50ms);
    errand.heard().say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
    errand.finish();
    EXPECT_EQ(errand.failure(), FetchFailure::late);
    EXPECT_TRUE(errand.loop.run_until([&] { return errand.worker.visits[0]->is_over; }));
}

TEST(Fetch, DoesNotLetAnOldTimerEndANewRun) {
    Errand errand;
    errand.start(1ms);
    errand.fetch->stop();
    errand.start(1h);
    errand.heard(1);
    errand.settle();
    EXPECT_EQ(errand.told, 0);
}

TEST(Fetch, TellsThatTheConnectionIsRefused) {
    Errand errand;
    errand.worker.close_door();
    errand.start();
    errand.finish();
    EXPECT_EQ(errand.failure(), FetchFailure::refused);
}

TEST(Fetch, TellsThatTheAnswerBroke) {
    for (const std::string wrong :
         {"", "nonsense\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"}) {
        Errand errand;
        errand.start();
        errand.heard().say(wrong);
        errand.heard().hang_up();
        errand.finish();
        EXPECT_EQ(errand.failure(), FetchFailure::broke) << wrong;
    }
}

TEST(Fetch, TakesAnAnswerOfOneMebibyteAndNoMore) {
    for (const std::size_t size : {std::size_t{1024 * 1024}, std::size_t{1024 * 1024 + 1}}) {
        Errand errand;
        errand.start();
        ScriptedWorker::Visit& visit = errand.heard();
        visit.say("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n");
        for (std::size_t left = size; left > 0 && errand.told == 0;) {
            const std::size_t piece = std::min<std::size_t>(left, 32'768);
            visit.say(std::string(piece, 'x'));
            left -= piece;
            errand.loop.poll();
        }
        errand.finish();
        if (size > 1024 * 1024)
            EXPECT_EQ(errand.failure(), FetchFailure::too_large);
        else
            EXPECT_EQ((*errand.result)->body.size(), size);
        EXPECT_EQ(errand.told, 1);
    }
}

TEST(Fetch, SaysNothingOnceItIsStopped) {
    Errand errand;
    errand.start();
    ScriptedWorker::Visit& visit = errand.heard();
    errand.fetch->stop();
    EXPECT_TRUE(errand.loop.run_until([&] { return visit.is_over; }));
    EXPECT_EQ(errand.told, 0);
}

TEST(Fetch, MayBeStartedAgainByItsCallback) {
    Errand errand;
    errand.fetch->head() = "GET / HTTP/1.1\r\nHost: w\r\n\r\n";
    errand.fetch->start(http::Method::get, 1h, [&](const Fetch::Result&) { errand.start(); });
    errand.heard(0).say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    errand.heard(1).say("HTTP/1.1 404 Gone\r\nContent-Length: 0\r\n\r\n");
    errand.finish();
    EXPECT_EQ((*errand.result)->status, 404);
}

TEST(Fetch, MayBeDroppedByItsCallback) {
    Errand errand;
    errand.fetch->head() = "GET / HTTP/1.1\r\nHost: w\r\n\r\n";
    errand.fetch->start(http::Method::get, 1h, [&](const Fetch::Result&) {
        errand.fetch = nullptr;
        ++errand.told;
    });
    errand.heard(0).say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    EXPECT_TRUE(errand.loop.run_until([&] { return errand.told > 0; }));
}

}  // namespace
}  // namespace turnpike
