// How a link handles workers that break the rules, and users that change their mind.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/supervisor/http/call.h"

namespace turnpike {
namespace {

TEST(LinkBreak, TellsThatAnAnswerIsNotWhole) {
    for (const std::string part : {
             "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
             "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n",
             "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n",
             "H",
             "HTTP/1.1 100 Continue\r\n\r\n",
         }) {
        Call call;
        call.send();
        call.heard(0).say(part);
        call.heard(0).hang_up();
        call.finish();
        EXPECT_EQ(call.user.broke, Break::truncated) << part;
        EXPECT_TRUE(call.link->is_closed());
    }
}

TEST(LinkBreak, IsNotStaleOnceAByteOfAnAnswerCame) {
    Call call;
    call.exchange(0, short_answer);
    call.send();
    call.heard(0).say("H");
    call.heard(0).hang_up();
    call.finish();
    EXPECT_EQ(call.user.broke, Break::truncated);
    EXPECT_EQ(call.worker.visits.size(), 1U);
}

TEST(LinkBreak, TellsThatAnAnswerIsNoHttp) {
    for (const std::string wrong : {
             "hello\r\n\r\n",
             "HTTP/2.0 200 OK\r\n\r\n",
             "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
             "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
             "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
             "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
         }) {
        Call call;
        call.send();
        call.heard(0).say(wrong);
        call.finish();
        EXPECT_EQ(call.user.broke, Break::malformed) << wrong;
        EXPECT_NE(call.user.fault, http::Fault::none) << wrong;
        EXPECT_TRUE(call.link->is_closed());
    }
}

TEST(LinkBreak, RefusesAHeadWithoutEnd) {
    Call call;
    call.send();
    call.heard(0).say("HTTP/1.1 200 OK\r\nA: " + std::string(70'000, 'a'));
    call.finish();
    EXPECT_EQ(call.user.broke, Break::malformed);
}

TEST(LinkBreak, TakesALongHead) {
    Call call;
    const std::string value(40'000, 'a');
    call.exchange(0, "HTTP/1.1 200 OK\r\nA: " + value + "\r\nContent-Length: 5\r\n\r\nhello");
    EXPECT_EQ(call.user.data, "hello");
    call.exchange(0, short_answer);
}

TEST(LinkBreak, SkipsInterimAnswers) {
    Call call;
    const std::string interim =
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    call.exchange(0, interim + std::string(short_answer));
    EXPECT_EQ(call.user.heads, 1);
    EXPECT_EQ(call.user.status, 200);
    EXPECT_TRUE(call.link->is_idle());
}

TEST(LinkBreak, RefusesInterimAnswersWithoutEnd) {
    Call call;
    call.send();
    std::string interims;
    for (int i = 0; i < 17; ++i) interims += "HTTP/1.1 102 Processing\r\n\r\n";
    call.heard(0).say(interims);
    call.finish();
    EXPECT_EQ(call.user.broke, Break::malformed);
    EXPECT_EQ(call.user.heads, 0);
}

TEST(LinkBreak, DoesNotReuseAConnectionThatSaysMoreThanItWasAsked) {
    Call call;
    call.exchange(0, std::string(short_answer) + std::string(short_answer));
    EXPECT_EQ(call.user.data, "hello");
    EXPECT_TRUE(call.link->is_closed());
    call.exchange(1, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nown");
    EXPECT_EQ(call.user.data, "own");
}

TEST(LinkBreak, ClosesAnIdleConnectionThatSpeaksUnasked) {
    Call call;
    call.exchange(0, short_answer);
    ASSERT_TRUE(call.link->is_idle());
    call.heard(0, "").say(short_answer);
    EXPECT_TRUE(call.loop.run_until([&] { return call.link->is_closed(); }));
    call.exchange(1, short_answer);
    EXPECT_TRUE(call.link->is_closed()) << "a worker that did this once may do it again, later";
}

TEST(LinkBreak, DoesNotUseOtherConnectionsOfAWorkerThatSpokeUnasked) {
    Call call;
    NotingUser other_user;
    Link other(call.deps, call.worker.destination);
    call.exchange(0, short_answer);
    other.head() = "GET /other HTTP/1.1\r\n\r\n";
    other.send({}, other_user);
    call.heard(1).say(short_answer);
    ASSERT_TRUE(call.loop.run_until([&] { return other.is_idle(); }));
    call.heard(0, "").say("HTTP/1.1 408 Late\r\nContent-Length: 0\r\n\r\n");
    EXPECT_TRUE(call.loop.run_until([&] { return call.link->is_closed(); }));
    other.send({}, other_user);
    EXPECT_TRUE(call.loop.run_until([&] { return call.worker.visits.size() == 3; }));
}

TEST(LinkBreak, ForgivesAWorkerThatOnlyClosesIdleConnections) {
    Call call;
    call.exchange(0, short_answer);
    call.heard(0, "").hang_up();
    EXPECT_TRUE(call.loop.run_until([&] { return call.link->is_closed(); }));
    EXPECT_EQ(call.worker.destination.reuse, Reuse::allowed);
}

/// A server that waited too long for the next request says so while that request is on its way.
TEST(LinkBreak, IsStaleIfTheWorkerSaysThatItGotNoRequestInTime) {
    const std::string_view late =
        "HTTP/1.1 408 Late\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    Call call;
    call.send();
    call.heard(0).say(late);
    call.finish();
    EXPECT_EQ(call.user.status, 408) << "on a new connection it is an answer";
    call.exchange(1, short_answer);
    call.send();
    call.heard(1).say(late);
    call.finish();
    EXPECT_EQ(call.user.broke, Break::stale);
    EXPECT_EQ(call.user.heads, 0);
}

TEST(LinkBreak, DoesNotReuseAConnectionWhoseAnswerCameBeforeTheRequestWasSent) {
    Call call;
    call.store.memory_max = 100'000'000;
    call.worker.is_deaf = true;
    Body body;
    body.append(call.store, std::string(30'000'000, 'x'), nullptr);
    call.send(&body, http::Method::post);
    ScriptedWorker::Visit& visit = call.heard(0, "");
    visit.say("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n");
    ASSERT_TRUE(call.loop.run_until([&] { return call.user.heads == 1; }));
    visit.is_deaf = false;
    visit.read();  // only now, after the head of its answer
    ASSERT_TRUE(call.loop.run_until([&] { return visit.got.size() > 30'000'000; }));
    visit.say("yes");
    call.finish();
    EXPECT_EQ(call.user.data, "yes");
    EXPECT_TRUE(call.link->is_closed());
}

/// Nor does it use the connection again: a worker that sends one nevertheless may be slower than we.
TEST(LinkBreak, NeverExpectsABodyIfThereCanBeNone) {
    Call call;
    call.send(nullptr, http::Method::head);
    call.heard(0).say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    call.finish();
    EXPECT_EQ(call.user.ends, 1);
    EXPECT_EQ(call.user.data, "");
    EXPECT_TRUE(call.link->is_closed());
    call.exchange(1, "HTTP/1.1 204 No Content\r\n\r\n");
    call.exchange(2, "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n");
    EXPECT_TRUE(call.link->is_closed());
    EXPECT_EQ(call.worker.destination.reuse, Reuse::allowed) << "it did nothing wrong";
}

TEST(LinkBreak, SendsABodyFromDisk) {
    Call call;
    call.store.step = 50'000;
    Body body;
    bool is_stored = false;
    const std::string bytes = numbered(1'000'000);
    body.append(call.store, bytes, [&](int error) { is_stored = error == 0; });
    ASSERT_TRUE(call.loop.run_until([&] { return is_stored; }));
    ASSERT_FALSE(body.is_in_memory());
    call.send(&body, http::Method::post);
    call.heard(0);
    ASSERT_TRUE(call.loop.run_until([&] {
        return call.worker.visits[0]->got.size() >= call.link->head().size() + bytes.size();
    }));
    EXPECT_TRUE(call.worker.visits[0]->got.ends_with("\r\n\r\n" + bytes));
    call.worker.visits[0]->say(short_answer);
    call.finish();
    EXPECT_TRUE(call.link->is_idle());
}

TEST(LinkBreak, IsNeverStaleIfConnectionsAreNeverReused) {
    Call call;
    call.worker.destination.reuse = Reuse::forbidden;
    call.exchange(0, short_answer);
    EXPECT_TRUE(call.link->is_closed());
    call.send();
    call.heard(1).hang_up();
    call.finish();
    EXPECT_EQ(call.user.broke, Break::missing);
    EXPECT_EQ(call.worker.visits.size(), 2U);
}

/// The worker answers before it has read the request: the answer counts, but the connection is not
/// reused.
void answer_early(Call& call, const Body& body) {
    call.worker.is_deaf = true;
    call.send(&body, http::Method::post);
    call.heard(0, "").say("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nno!");
    call.finish();
    EXPECT_EQ(call.user.ends, 1);
    EXPECT_EQ(call.user.status, 413);
    EXPECT_EQ(call.user.data, "no!");
    EXPECT_TRUE(call.link->is_closed()) << "half of a request is on its way";
}

TEST(LinkBreak, TakesAnAnswerThatComesBeforeTheBodyIsSent) {
    Call call;
    call.store.memory_max = 100'000'000;
    Body body;
    body.append(call.store, std::string(30'000'000, 'x'), nullptr);
    answer_early(call, body);
}

TEST(LinkBreak, TakesAnAnswerThatComesBeforeTheBodyIsReadFromDisk) {
    Call call;
    call.store.step = 100'000;
    Body body;
    bool is_stored = false;
    body.append(call.store, std::string(30'000'000, 'x'), [&](int e) { is_stored = e == 0; });
    ASSERT_TRUE(call.loop.run_until([&] { return is_stored; }));
    answer_early(call, body);
    call.settle();
    call.worker.is_deaf = false;
    call.exchange(1, short_answer);
}

TEST(LinkBreak, ReadsNoFurtherWhileItsUserHasNoRoom) {
    Call call;
    call.send();
    call.user.room = LinkUser::Room::wait;
    ScriptedWorker::Visit& visit = call.heard(0);
    visit.say(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n1\r\nc\r\n");
    for (const std::string so_far : {"a", "ab", "abc"}) {
        ASSERT_TRUE(call.loop.run_until([&] { return call.user.data == so_far; }));
        visit.say("1\r\nd\r\n");
        call.loop.poll();
        EXPECT_EQ(call.user.data, so_far);
        call.link->resume();
    }
    call.user.room = LinkUser::Room::enough;
    call.link->resume();
    visit.say("0\r\n\r\n");
    call.finish();
    EXPECT_EQ(call.user.data, "abcddd");
    EXPECT_TRUE(call.link->is_idle());
}

TEST(LinkBreak, EndsAnAnswerWhoseLastPieceFoundNoRoom) {
    Call call;
    call.send();
    call.user.room = LinkUser::Room::wait;
    call.heard(0).say(short_answer);
    call.finish();
    EXPECT_EQ(call.user.ends, 1);
    call.exchange(0, short_answer);
}

TEST(LinkBreak, IgnoresAResumeThatIsNotNeeded) {
    Call call;
    call.link->resume();
    call.send();
    call.link->resume();
    call.heard(0).say(short_answer);
    call.finish();
    call.link->resume();
    EXPECT_TRUE(call.link->is_idle());
}

TEST(LinkBreak, SaysNothingMoreOnceItIsClosed) {
    Call call;
    call.send();
    call.heard(0).say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello");
    ASSERT_TRUE(call.loop.run_until([&] { return call.user.data == "hello"; }));
    call.link->close();
    EXPECT_TRUE(call.loop.run_until([&] { return call.worker.visits[0]->is_over; }));
    EXPECT_FALSE(call.user.is_done());
    call.exchange(1, short_answer);
}

TEST(LinkBreak, CanBeClosedWhileItConnects) {
    Call call;
    call.send();
    call.link->close();
    call.settle();
    EXPECT_FALSE(call.user.is_done());
    EXPECT_TRUE(call.link->is_closed());
}

TEST(LinkBreak, CanBeClosedByItsUserInTheMiddleOfAHead) {
    Call call;
    call.send();
    call.user.on_head = [&] { call.link->close(); };
    call.heard(0).say(short_answer);
    EXPECT_TRUE(call.loop.run_until([&] { return call.worker.visits[0]->is_over; }));
    EXPECT_EQ(call.user.heads, 1);
    EXPECT_EQ(call.user.data, "");
    EXPECT_FALSE(call.user.is_done());
    call.exchange(1, short_answer);
}

TEST(LinkBreak, CanBeClosedByItsUserInTheMiddleOfData) {
    for (const LinkUser::Room room : {LinkUser::Room::enough, LinkUser::Room::wait}) {
        Call call;
        call.send();
        call.user.room = room;
        call.user.on_data = [&] { call.link->close(); };
        call.heard(0).say(short_answer);
        EXPECT_TRUE(call.loop.run_until([&] { return call.worker.visits[0]->is_over; }));
        EXPECT_EQ(call.user.data, "hello");
        EXPECT_FALSE(call.user.is_done()) << "it was closed before the end";
        call.exchange(1, short_answer);
    }
}

TEST(LinkBreak, MayBeDroppedByItsUserAtTheEnd) {
    Call call;
    call.send();
    call.user.on_end = [&] { call.link = nullptr; };
    call.heard(0).say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    call.finish();
    EXPECT_EQ(call.link, nullptr);
}

}  // namespace
}  // namespace turnpike
