// Jobs of a native worker that end from our side: it ended, or their clients left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "supervisor/native/native_rides.h"
#include "tests/unit/supervisor/native/native_trip.h"

namespace turnpike {
namespace {

using testing::IsEmpty;

const Farewell farewell{.trouble = "exit code 1", .last_words = "Traceback"};

TEST(NativeRidesClosed, GiveTheFarewellToJobsInEveryState) {
    NativeTrip trip;
    trip.start(0);  // sent
    const std::uint64_t flowing = trip.start(1);
    trip.say(wire::Begin{.id = flowing});
    trip.say(wire::Chunk{.id = flowing, .bytes = "half"});
    const std::uint64_t ended = trip.start(2);
    trip.say(wire::Done{.id = ended, .status = 200});
    trip.open(3, "ready, but of a batch");
    trip.open(4, numbered(300));  // preparing, as the next
    trip.open(5, numbered(300));
    std::promise<void> go = trip.hold_disk();
    trip.send(3, 0, 2);
    trip.send(4, 1, 2);
    trip.send(5);
    EXPECT_EQ(trip.rides.aboard().size(), 5U);
    trip.events.clear();

    trip.rides.close(farewell);
    for (const std::uint64_t job : {0U, 1U, 3U, 4U, 5U}) {
        EXPECT_EQ(trip.exchange(job).trouble, "exit code 1") << job;
        EXPECT_EQ(trip.exchange(job).last_words, "Traceback") << job;
        EXPECT_EQ(trip.answer(job).state(), job == 1 ? AnswerState::broken : AnswerState::none);
    }
    EXPECT_EQ(trip.answer(1).front(), "half");
    EXPECT_EQ(trip.exchange(2).trouble, "");
    EXPECT_EQ(trip.answer(2).state(), AnswerState::complete);
    EXPECT_THAT(trip.rides.aboard(), IsEmpty());

    go.set_value();
    trip.settle();
    trip.settle();
    trip.peer.hear();
    EXPECT_EQ(trip.peer.jobs.size(), 3U) << "what was prepared meanwhile is not sent";
    EXPECT_THAT(trip.rides.aboard(), IsEmpty()) << "nor comes back";
    EXPECT_THAT(trip.events, IsEmpty()) << "the engine knows";
}

TEST(NativeRidesClosed, KeepTheTroubleThatIsKnownAlready) {
    NativeTrip trip;
    trip.start(0);
    trip.exchange(0).trouble = "it took too long";
    trip.rides.close({.trouble = "", .last_words = "Traceback"});
    EXPECT_EQ(trip.exchange(0).trouble, "it took too long");
    EXPECT_EQ(trip.exchange(0).last_words, "Traceback");
}

TEST(NativeRidesClosed, LetTheirJobsBeTriedElsewhere) {
    NativeTrip trip;
    trip.open(0, numbered(300));
    trip.send(0);
    trip.heard_job(0);
    trip.rides.close(farewell);
    wire::Conversation other;
    EXPECT_EQ(other.heard(wire::Hello{}), wire::Breach::none);
    EXPECT_EQ(other.heard(wire::Ready{}), wire::Breach::none);
    NativeRides elsewhere{{.deps = trip.deps,
                           .worker = WorkerId{2},
                           .link = *trip.link,
                           .conversation = other,
                           .stays = [] { return nullptr; }}};
    trip.peer.jobs.clear();
    elsewhere.send({.worker = WorkerId{2}, .job = JobId{0}, .attempt = AttemptId{9}, .number = 2},
                   trip.exchanges.find(JobId{0}));
    const HeardJob& job = trip.heard_job(0);
    EXPECT_EQ(job.attempt, 2);
    EXPECT_TRUE(job.is_in_descriptor);
    EXPECT_EQ(trip.exchange(0).trouble, "");
}

/// A stream, a whole answer, a large one and a failure, whoever closes the rides meanwhile.
void hear_all_sorts(NativeTrip& trip) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t job = 0; job < 4; ++job) ids.push_back(trip.start(job));
    const auto say = [&](const wire::WorkerFrame& frame, const UniqueFd& file = UniqueFd()) {
        if (!trip.rides.aboard().empty()) trip.say(frame, file);
    };
    say(wire::Begin{.id = ids[0]});
    say(wire::Chunk{.id = ids[0], .bytes = numbered(500)});  // it shall pause
    say(wire::Failed{.id = ids[0]});
    say(wire::Done{.id = ids[1], .status = 200});
    say(
        wire::Done{
            .id = ids[2], .status = 200, .body = {.in_descriptor = 5, .is_in_descriptor = true}},
        make_memfd("hello"));
    say(wire::Failed{.id = ids[3]});
}

TEST(NativeRidesClosed, MayBeSoByWhoReadsAnAnswer) {
    for (int when = 1; when <= 6; ++when) {
        NativeTrip trip;
        int told = 0;
        std::size_t before = 0;
        trip.reader.act = [&] {
            if (++told != when) return;
            trip.rides.close(farewell);
            before = trip.events.size();
        };
        hear_all_sorts(trip);
        EXPECT_GE(told, when);
        EXPECT_EQ(trip.events.size(), before) << "nothing more is told, " << when;
        trip.peer.hear();
        EXPECT_EQ(trip.peer.told.size(), when <= 2 ? 0U : 1U) << "nor to the worker, " << when;
        EXPECT_THAT(trip.rides.aboard(), IsEmpty());
    }
}

TEST(NativeRidesClosed, MayBeSoByWhoIsToldOfAnAnswer) {
    for (std::size_t when = 1; when <= 6; ++when) {
        NativeTrip trip;
        trip.act = [&](const Event&) {
            if (trip.events.size() == when) trip.rides.close(farewell);
        };
        hear_all_sorts(trip);
        EXPECT_EQ(trip.events.size(), when) << "nothing more is told";
        EXPECT_THAT(trip.rides.aboard(), IsEmpty());
    }
}

// ── clients that left ────────────────────────────────────────────────────────────────────────────

/// As the gate does it.
void leave(NativeTrip& trip, std::uint64_t job) {
    ExchangePtr exchange = trip.exchanges.find(JobId{job});
    exchange->answer.abandon();
    trip.exchanges.close(std::move(exchange));
}

TEST(NativeRidesAbandoned, WhileTheirBodyIsPreparedAreSentAndDropped) {
    NativeTrip trip;
    trip.open(0, numbered(300));
    std::promise<void> go = trip.hold_disk();
    trip.send(0);
    leave(trip, 0);
    trip.rides.cancel(NativeTrip::attempt(0));
    go.set_value();
    const std::uint64_t id = trip.heard_job(0).id;
    ASSERT_EQ(trip.peer.files.size(), 1U);
    EXPECT_EQ(text_of(trip.peer.files[0]), numbered(300));
    trip.say(wire::Done{.id = id, .status = 200, .body = {.bytes = "late"}});
    EXPECT_EQ(trip.verdict(0), Verdict::cancelled);
}

TEST(NativeRidesAbandoned, BeforeTheirAnswerEndAsTheWorkerEndsThem) {
    const std::vector<std::string> ways{"done", "descriptor", "stream", "failed"};
    for (const std::string& way : ways) {
        NativeTrip trip;
        const std::uint64_t id = trip.start(0);
        leave(trip, 0);
        if (way == "done") trip.say(wire::Done{.id = id, .status = 200, .body = {.bytes = "x"}});
        if (way == "descriptor")
            trip.say(wire::Done{.id = id,
                                .status = 200,
                                .body = {.in_descriptor = 5, .is_in_descriptor = true}},
                     make_memfd("hello"));
        if (way == "stream") {
            trip.say(wire::Begin{.id = id});
            for (int i = 0; i < 20; ++i) trip.say(wire::Chunk{.id = id, .bytes = numbered(500)});
            trip.say(wire::Done{.id = id});
        }
        if (way == "failed") trip.say(wire::Failed{.id = id});
        EXPECT_EQ(trip.verdict(0), way == "failed" ? Verdict::model_failed : Verdict::answered)
            << way;
        trip.peer.hear();
        EXPECT_THAT(trip.peer.told, IsEmpty()) << "nothing pauses for nobody";
        EXPECT_FALSE(trip.broke);
        EXPECT_THAT(trip.rides.aboard(), IsEmpty());
    }
}

TEST(NativeRidesAbandoned, WhileTheyFlowGoOnForNobody) {
    NativeTrip trip;
    const std::uint64_t id = trip.start(0);
    trip.say(wire::Begin{.id = id});
    trip.reader.act = [&] { leave(trip, 0); };  // by who reads the first piece
    trip.say(wire::Chunk{.id = id, .bytes = numbered(500)});
    trip.peer.hear();
    EXPECT_THAT(trip.peer.told, IsEmpty());
    trip.say(wire::Chunk{.id = id, .bytes = numbered(500)});
    trip.say(wire::Done{.id = id});
    EXPECT_EQ(trip.verdict(0), Verdict::answered);
}

TEST(NativeRidesAbandoned, ByWhoReadsTheBeginningOrTheEnd) {
    for (const AnswerState when : {AnswerState::flowing, AnswerState::complete}) {
        NativeTrip trip;
        const std::uint64_t id = trip.start(0);
        trip.reader.act = [&] {
            if (trip.answer(0).state() == when) leave(trip, 0);
        };
        trip.say(
            wire::Done{
                .id = id, .status = 200, .body = {.in_descriptor = 5, .is_in_descriptor = true}},
            make_memfd("hello"));
        EXPECT_EQ(trip.verdict(0), Verdict::answered);
        EXPECT_THAT(trip.rides.aboard(), IsEmpty());
    }
}

TEST(NativeRidesAbandoned, WhenTheirWorkerEndsAreForgotten) {
    NativeTrip trip;
    const std::uint64_t flowing = trip.start(0);
    trip.say(wire::Begin{.id = flowing});
    trip.start(1);
    leave(trip, 0);
    leave(trip, 1);
    trip.rides.close(farewell);
    EXPECT_THAT(trip.rides.aboard(), IsEmpty());
}

// ── the next job of a ride ───────────────────────────────────────────────────────────────────────

TEST(NativeRidesReused, NeverUseANumberTwice) {
    NativeTrip trip;
    std::set<std::uint64_t> ids;
    for (std::uint64_t job = 0; job < 20; ++job) {
        const std::uint64_t id = trip.start(job);
        EXPECT_TRUE(ids.insert(id).second) << "never 0, never twice";
        EXPECT_NE(id, 0U);
        if (job % 3 == 0) continue;  // some stay aboard
        trip.say(wire::Done{.id = id, .status = 200, .body = {.bytes = std::to_string(job)}});
        EXPECT_EQ(trip.answer(job).front(), std::to_string(job));
    }
    EXPECT_EQ(trip.rides.aboard().size(), 7U);
}

TEST(NativeRidesReused, ForgetWhatTheirJobBeforeWas) {
    NativeTrip trip;
    const std::uint64_t before = trip.start(0);
    trip.say(wire::Begin{.id = before});
    trip.say(wire::Chunk{.id = before, .bytes = numbered(500)});  // paused
    trip.rides.cancel(NativeTrip::attempt(0));
    trip.say(wire::Failed{.id = before, .why = wire::FailWhy::cancelled});
    ASSERT_EQ(trip.verdict(0), Verdict::cancelled);
    trip.peer.hear();
    trip.peer.told.clear();

    const std::uint64_t id = trip.start(1, "small");
    EXPECT_EQ(id & NativeRides::place_mask, before & NativeRides::place_mask) << "the same ride";
    trip.answer(0).abandon();
    trip.say(wire::Begin{.id = id});
    trip.say(wire::Chunk{.id = id, .bytes = "kept"});
    EXPECT_EQ(trip.answer(1).front(), "kept") << "this one is not cancelled";
    trip.peer.hear();
    EXPECT_THAT(trip.peer.told, IsEmpty());
    trip.say(wire::Chunk{.id = id, .bytes = numbered(500)});
    trip.peer.hear();
    EXPECT_THAT(trip.peer.told, testing::ElementsAre("pause " + std::to_string(id)));
    trip.say(wire::Done{.id = id});
    EXPECT_EQ(trip.verdict(1), Verdict::answered);
}

TEST(NativeRidesReused, SendASmallBodyAfterALargeOne) {
    NativeTrip trip;
    const std::uint64_t before = trip.start(0, numbered(300));
    trip.say(wire::Done{.id = before, .status = 200});
    trip.start(1, "small");
    EXPECT_FALSE(trip.heard_job(1).is_in_descriptor);
    EXPECT_EQ(trip.heard_job(1).body, "small");
    EXPECT_EQ(trip.peer.files.size(), 1U);
}

TEST(NativeRidesReused, TakeTheNextJobFromWhoHearsOfAnEnd) {
    NativeTrip trip;
    const std::uint64_t before = trip.start(0);
    trip.open(1, "next");
    trip.act = [&](const Event& event) {
        const auto* ended = std::get_if<AttemptEnded>(&event);
        if (ended != nullptr && ended->attempt == NativeTrip::attempt(0)) trip.send(1);
    };
    trip.say(wire::Done{.id = before, .status = 200, .body = {.bytes = "first"}});
    const std::uint64_t id = trip.heard_job(1).id;
    EXPECT_EQ(id & NativeRides::place_mask, before & NativeRides::place_mask);
    EXPECT_EQ(trip.answer(0).front(), "first");
    EXPECT_EQ(trip.answer(1).state(), AnswerState::none);
    EXPECT_FALSE(trip.verdict(1));
}

}  // namespace
}  // namespace turnpike
