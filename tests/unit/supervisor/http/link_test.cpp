#include "supervisor/http/link.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/supervisor/http/call.h"

namespace turnpike {
namespace {

TEST(Link, BringsARequestThereAndAnAnswerBack) {
    Call call;
    call.send();
    EXPECT_EQ(call.heard(0).got, "GET /asked HTTP/1.1\r\nHost: w\r\n\r\n");
    call.heard(0).say(short_answer);
    call.finish();
    EXPECT_EQ(call.user.status, 200);
    EXPECT_EQ(call.user.data, "hello");
    EXPECT_EQ(call.user.ends, 1);
    EXPECT_TRUE(call.link->is_idle());
}

TEST(Link, TakesAnAnswerByteByByte) {
    Call call;
    call.send();
    ScriptedWorker::Visit& visit = call.heard(0);
    const std::string answer =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    for (const char byte : answer) {
        EXPECT_FALSE(call.user.is_done());
        visit.say(std::string_view(&byte, 1));
        call.loop.poll();
    }
    call.finish();
    EXPECT_EQ(call.user.data, "abcde");
    EXPECT_EQ(call.user.heads, 1);
    EXPECT_TRUE(call.link->is_idle());
}

TEST(Link, TakesAnAnswerThatEndsWithItsConnection) {
    Call call;
    call.send();
    call.heard(0).say("HTTP/1.1 200 OK\r\n\r\nall of it");
    call.heard(0).hang_up();
    call.finish();
    EXPECT_EQ(call.user.ends, 1);
    EXPECT_EQ(call.user.data, "all of it");
    EXPECT_TRUE(call.link->is_closed());
}

TEST(Link, TakesALargeAnswer) {
    Call call;
    call.send();
    ScriptedWorker::Visit& visit = call.heard(0);
    const std::string body = numbered(60'000);
    visit.say("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n");
    for (std::size_t i = 1; i <= 5; ++i) {
        visit.say(body);
        ASSERT_TRUE(call.loop.run_until([&] { return call.user.data.size() == i * body.size(); }));
    }
    call.finish();
    EXPECT_EQ(call.user.data, body + body + body + body + body);
    call.exchange(0, short_answer);
}

TEST(Link, UsesAConnectionAgain) {
    Call call;
    for (int i = 0; i < 3; ++i) call.exchange(0, short_answer);
    EXPECT_EQ(call.worker.visits.size(), 1U);
}

TEST(Link, MayBeSentTheNextRequestAsSoonAsAnAnswerEnded) {
    Call call;
    NotingUser second;
    call.send();
    call.user.on_end = [&] { call.link->send({.method = http::Method::get}, second); };
    call.heard(0).got.clear();
    call.heard(0, "").say(short_answer);
    call.finish();
    call.heard(0).say(short_answer);
    EXPECT_TRUE(call.loop.run_until([&] { return second.is_done(); }));
    EXPECT_EQ(second.ends, 1);
    EXPECT_EQ(call.worker.visits.size(), 1U);
}

TEST(Link, DoesNotUseAConnectionAgainThatTheWorkerWantsToClose) {
    Call call;
    call.exchange(0, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
    EXPECT_TRUE(call.link->is_closed());
    call.exchange(1, short_answer);
    EXPECT_EQ(call.user.data, "hello");
}

TEST(Link, DoesNotUseAConnectionAgainOfAnHttp10Worker) {
    Call call;
    call.exchange(0, "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok");
    EXPECT_TRUE(call.link->is_closed());
}

TEST(Link, NoticesThatAnIdleConnectionWasClosed) {
    Call call;
    call.exchange(0, short_answer);
    call.heard(0, "").hang_up();
    EXPECT_TRUE(call.loop.run_until([&] { return call.link->is_closed(); }));
    call.exchange(1, short_answer);
}

TEST(Link, DoesNotUseAConnectionAgainWhoseEndTheLoopHasNotSeenYet) {
    Call call;
    call.exchange(0, short_answer);
    call.worker.visits[0]->hang_up();
    call.send();
    call.heard(1).say(short_answer);
    call.finish();
    EXPECT_EQ(call.user.ends, 1);
    EXPECT_EQ(call.user.data, "hello");
    EXPECT_EQ(call.worker.visits.size(), 2U);
}

TEST(Link, IsStaleWhenAReusedConnectionEndsBeforeAnAnswer) {
    Call call;
    call.exchange(0, short_answer);
    call.send();
    call.worker.visits[0]->hang_up();  // as if the end and the request crossed on the way
    call.finish();
    EXPECT_EQ(call.user.broke, Break::stale);
    call.settle();
    EXPECT_EQ(call.worker.visits.size(), 1U) << "the link sends nothing twice";
}

TEST(Link, IsStaleAlsoIfTheWorkerHasReadTheRequest) {
    Call call;
    call.exchange(0, short_answer);
    call.send();
    call.heard(0).hang_up();
    call.finish();
    EXPECT_EQ(call.user.broke, Break::stale);
}

TEST(Link, UsesANewConnectionIfTheRequestNeedsOne) {
    Call call;
    call.exchange(0, short_answer);
    ASSERT_TRUE(call.link->is_idle());
    call.user = NotingUser();
    call.link->send({.method = http::Method::get, .needs_new_connection = true}, call.user);
    call.heard(1).hang_up();
    call.finish();
    EXPECT_EQ(call.user.broke, Break::missing) << "a new connection is never stale";
    EXPECT_TRUE(call.loop.run_until([&] { return call.worker.visits[0]->is_over; }));
}

TEST(Link, KnowsWhetherItHasSentSomething) {
    Call call;
    EXPECT_FALSE(call.link->has_sent());
    for (const std::size_t connection : {0U, 1U}) {
        call.send();
        EXPECT_FALSE(call.link->has_sent()) << "it is connecting";
        call.heard(connection);
        EXPECT_TRUE(call.link->has_sent());
        call.heard(connection)
            .say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        call.finish();
        EXPECT_FALSE(call.link->has_sent()) << "that request is over";
    }
    call.exchange(2, short_answer);
    call.send();
    EXPECT_TRUE(call.link->has_sent()) << "at once on a reused connection";
}

TEST(Link, DoesNotTreatUnrequestedBytesAsAnAnswer) {
    Call call;
    call.exchange(0, short_answer);
    call.worker.visits[0]->say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstale");
    call.send();  // before the loop had a chance to read it
    call.heard(1).say(short_answer);
    call.finish();
    EXPECT_EQ(call.user.ends, 1);
    EXPECT_NE(call.user.data, "stale");
}

/// An answer as long as a link reads at once, and then another one that nobody asked for.
std::string answer_and_stale() {
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 16342\r\n\r\n";
    EXPECT_EQ(head.size() + 16342, 16U * 1024);
    return head + std::string(16342, 'x') + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstale";
}

TEST(Link, DoesNotTreatBytesBehindTheLastAnswerAsAnAnswer) {
    Call call;
    call.exchange(0, answer_and_stale());
    call.send();
    call.heard(1).say(short_answer);
    call.finish();
    EXPECT_EQ(call.user.data, "hello");
}

TEST(Link, IgnoresBytesBehindAnAnswerEvenIfTheNextRequestIsSentAtOnce) {
    Call call;
    NotingUser second;
    call.send();
    call.user.on_end = [&] { call.link->send({.method = http::Method::get}, second); };
    call.heard(0).say(answer_and_stale());
    call.heard(1).say(short_answer);
    EXPECT_TRUE(call.loop.run_until([&] { return second.is_done(); }));
    EXPECT_EQ(second.data, "hello");
}

TEST(Link, SendsTheWholeBodyAgainAfterItWasStale) {
    Call call;
    Body body;
    bool is_stored = false;
    const std::string bytes = numbered(150);
    body.append(call.store, bytes, [&](int error) { is_stored = error == 0; });
    ASSERT_TRUE(call.loop.run_until([&] { return is_stored; }));
    call.exchange(0, short_answer);
    call.send(&body, http::Method::post);
    call.worker.visits[0]->hang_up();
    call.finish();
    EXPECT_EQ(call.user.broke, Break::stale);
    call.send(&body, http::Method::post);
    EXPECT_TRUE(call.heard(1, bytes).got.ends_with("\r\n\r\n" + bytes));
    call.heard(1).say(short_answer);
    call.finish();
    EXPECT_EQ(call.user.ends, 1);
}

TEST(Link, SaysRefusedWhenNobodyListens) {
    Call call;
    call.worker.close_door();
    call.send();
    call.finish();
    EXPECT_EQ(call.user.broke, Break::refused);
    EXPECT_TRUE(call.link->is_closed());
}

TEST(Link, SaysThatThereIsNoLinkWhenItKnowsNoAddress) {
    Call call;
    call.worker.destination.endpoints.clear();
    call.send();
    call.finish();
    EXPECT_EQ(call.user.broke, Break::no_link);
}

TEST(Link, TriesEveryAddressAndRemembersTheOneThatAnswered) {
    Call call;
    ScriptedWorker dead(call.loop);
    const auto good = call.worker.destination.endpoints[0];
    const auto bad = dead.destination.endpoints[0];
    dead.close_door();
    call.worker.destination.endpoints = {bad, good};
    call.exchange(0, short_answer);
    EXPECT_EQ(call.worker.destination.preferred, 1U);
}

TEST(Link, CanBeUsedAgainAfterEveryBreak) {
    Call call;
    call.send();
    call.heard(0).hang_up();
    call.finish();
    EXPECT_EQ(call.user.broke, Break::missing);
    call.exchange(1, short_answer);
}

}  // namespace
}  // namespace turnpike
