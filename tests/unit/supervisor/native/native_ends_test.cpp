// Jobs of a native worker that end before it answers: the worker ended, or the client left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "supervisor/native/native_attempts.h"
#include "tests/unit/supervisor/held_thread.h"
#include "tests/unit/supervisor/native/native_stand.h"

namespace turnpike {
namespace {

using testing::IsEmpty;

const Trouble death{.cause = Cause::worker_died, .told = "exit code 1", .said = "Traceback"};

TEST(NativeAttemptsClosed, GiveTheNoticeToJobsInEveryState) {
    NativeStand stand;
    stand.start(0);  // sent
    const std::uint64_t flowing = stand.start(1);
    stand.say(wire::Begin{.id = flowing});
    stand.say(wire::Chunk{.id = flowing, .bytes = "half"});
    const std::uint64_t ended = stand.start(2);
    stand.say(wire::Done{.id = ended, .status = 200});
    stand.open(3, "ready, but of a batch");
    stand.open(4, numbered(300));  // preparing, like the next one
    stand.open(5, numbered(300));
    std::promise<void> go = hold(stand.background);
    stand.send(3, 0, 2);
    stand.send(4, 1, 2);
    stand.send(5);
    EXPECT_EQ(stand.attempts.aboard().size(), 5U);
    stand.events.clear();

    stand.attempts.close(death);
    for (const std::uint64_t job : {0U, 1U, 3U, 4U, 5U}) {
        EXPECT_EQ(stand.exchange(job).attempt.trouble, death) << job;
        EXPECT_EQ(stand.answer(job).state(), job == 1 ? AnswerState::broken : AnswerState::none);
    }
    EXPECT_EQ(stand.answer(1).front(), "half");
    EXPECT_EQ(stand.exchange(2).attempt.trouble, Trouble{});
    EXPECT_EQ(stand.answer(2).state(), AnswerState::complete);
    EXPECT_THAT(stand.attempts.aboard(), IsEmpty());

    go.set_value();
    stand.settle();
    stand.settle();
    stand.peer.hear();
    EXPECT_EQ(stand.peer.jobs.size(), 3U) << "what was prepared meanwhile is not sent";
    EXPECT_THAT(stand.attempts.aboard(), IsEmpty()) << "nor comes back";
    EXPECT_THAT(stand.events, IsEmpty()) << "the engine knows";
}

TEST(NativeAttemptsClosed, KeepTheTroubleThatIsKnownAlready) {
    NativeStand stand;
    stand.start(0);
    const Trouble known{.cause = Cause::body_not_stored, .told = "No space left on device"};
    stand.exchange(0).attempt.trouble = known;
    stand.attempts.close({});
    EXPECT_EQ(stand.exchange(0).attempt.trouble, known);
}

TEST(NativeAttemptsClosed, LetTheirJobsBeTriedElsewhere) {
    NativeStand stand;
    stand.open(0, numbered(300));
    stand.send(0);
    stand.heard_job(0);
    stand.attempts.close(death);
    wire::Conversation other;
    EXPECT_EQ(other.heard(wire::Hello{}), wire::Breach::none);
    EXPECT_EQ(other.heard(wire::Ready{}), wire::Breach::none);
    NativeAttempts elsewhere{
        {.deps = stand.deps, .worker = WorkerId{2}, .link = *stand.link, .conversation = other}};
    stand.peer.jobs.clear();
    elsewhere.send(
        {.worker = WorkerId{2}, .job = JobId{0}, .attempt = AttemptId{9}, .number = 2},
        stand.exchanges.begin_attempt(JobId{0}, AttemptId{9}, Generation{1}, stand.clock.now()));
    const HeardJob& job = stand.heard_job(0);
    EXPECT_EQ(job.attempt, 2);
    EXPECT_TRUE(job.is_in_descriptor);
    EXPECT_EQ(stand.exchange(0).attempt.trouble, Trouble{});
}

struct LaterWriter final : AnswerWriter {
    int told = 0;
    void answer_has_room() override { ++told; }
};

TEST(NativeAttemptsClosed, LeaveAJobAloneThatALaterAttemptHas) {
    NativeStand stand;
    const std::uint64_t id = stand.start(0);
    stand.say(wire::Begin{.id = id});
    const ExchangePtr exchange =
        stand.exchanges.begin_attempt(JobId{0}, AttemptId{9}, Generation{1}, stand.clock.now());
    LaterWriter later;
    exchange->answer.start(&later);
    exchange->answer.flow();
    while (exchange->answer.append(stand.store, numbered(50)) == Answer::Room::enough)
        stand.settle();
    stand.attempts.close(death);
    EXPECT_EQ(exchange->answer.state(), AnswerState::flowing) << "it is the later attempt's";
    EXPECT_EQ(exchange->attempt.trouble, Trouble{});
    exchange->answer.abandon();
    stand.loop.turn();
    EXPECT_EQ(later.told, 1) << "its writer is still known";
}

// ── clients that left ────────────────────────────────────────────────────────────────────────────

/// Ends a job as the gate does when its client leaves.
void leave(NativeStand& stand, std::uint64_t job) {
    ExchangePtr exchange = stand.exchanges.find(JobId{job});
    exchange->answer.abandon();
    stand.exchanges.close(std::move(exchange));
}

TEST(NativeAttemptsAbandoned, WhileTheirBodyIsPreparedAreSentAndDropped) {
    NativeStand stand;
    stand.open(0, numbered(300));
    std::promise<void> go = hold(stand.background);
    stand.send(0);
    leave(stand, 0);
    stand.attempts.cancel(NativeStand::attempt(0));
    go.set_value();
    const std::uint64_t id = stand.heard_job(0).id;
    ASSERT_EQ(stand.peer.files.size(), 1U);
    EXPECT_EQ(text_of(stand.peer.files[0]), numbered(300));
    stand.say(wire::Done{.id = id, .status = 200, .body = {.bytes = "late"}});
    EXPECT_EQ(stand.verdict(0), Verdict::cancelled);
}

TEST(NativeAttemptsAbandoned, BeforeTheirAnswerEndAsTheWorkerEndsThem) {
    const std::vector<std::string> ways{"done", "descriptor", "stream", "failed"};
    for (const std::string& way : ways) {
        NativeStand stand;
        const std::uint64_t id = stand.start(0);
        leave(stand, 0);
        if (way == "done") stand.say(wire::Done{.id = id, .status = 200, .body = {.bytes = "x"}});
        if (way == "descriptor")
            stand.say(wire::Done{.id = id,
                                 .status = 200,
                                 .body = {.in_descriptor = 5, .is_in_descriptor = true}},
                      make_memfd("hello"));
        if (way == "stream") {
            stand.say(wire::Begin{.id = id});
            for (int i = 0; i < 20; ++i) stand.say(wire::Chunk{.id = id, .bytes = numbered(500)});
            stand.say(wire::Done{.id = id});
        }
        if (way == "failed") stand.say(wire::Failed{.id = id});
        EXPECT_EQ(stand.verdict(0), way == "failed" ? Verdict::model_failed : Verdict::answered)
            << way;
        stand.peer.hear();
        EXPECT_THAT(stand.peer.told, IsEmpty()) << "nothing pauses for nobody";
        EXPECT_FALSE(stand.broke);
        EXPECT_THAT(stand.attempts.aboard(), IsEmpty());
    }
}

TEST(NativeAttemptsAbandoned, WhileTheyFlowGoOnWithoutAReader) {
    NativeStand stand;
    const std::uint64_t id = stand.start(0);
    stand.say(wire::Begin{.id = id});
    stand.reader.act = [&] { leave(stand, 0); };  // while the first piece is read
    stand.say(wire::Chunk{.id = id, .bytes = numbered(500)});
    stand.loop.turn();
    stand.peer.hear();
    const std::string number = std::to_string(id);
    EXPECT_THAT(stand.peer.told, testing::ElementsAre("pause " + number, "resume " + number));
    stand.say(wire::Chunk{.id = id, .bytes = numbered(500)});
    stand.say(wire::Done{.id = id});
    EXPECT_EQ(stand.verdict(0), Verdict::answered);
}

TEST(NativeAttemptsAbandoned, WhileTheyFlowCanBeCancelled) {
    NativeStand stand;
    const std::uint64_t id = stand.start(0);
    stand.say(wire::Begin{.id = id});
    stand.say(wire::Chunk{.id = id, .bytes = numbered(500)});  // so the worker has to pause
    leave(stand, 0);
    stand.loop.turn();
    stand.attempts.cancel(NativeStand::attempt(0));
    stand.peer.hear();
    const std::string number = std::to_string(id);
    EXPECT_THAT(stand.peer.told,
                testing::ElementsAre("pause " + number, "resume " + number, "cancel " + number));
    EXPECT_FALSE(stand.verdict(0)) << "the worker says when it is done";
    for (int i = 0; i < 20; ++i) stand.say(wire::Chunk{.id = id, .bytes = numbered(500)});
    stand.peer.hear();
    EXPECT_EQ(stand.peer.told.size(), 3U) << "the rest is dropped";
    stand.say(wire::Done{.id = id});
    EXPECT_EQ(stand.verdict(0), Verdict::cancelled);
    EXPECT_THAT(stand.attempts.aboard(), IsEmpty());
}

TEST(NativeAttemptsAbandoned, ByTheReaderAtTheBeginningOrTheEnd) {
    for (const AnswerState when : {AnswerState::flowing, AnswerState::complete}) {
        NativeStand stand;
        const std::uint64_t id = stand.start(0);
        stand.reader.act = [&] {
            if (stand.answer(0).state() == when) leave(stand, 0);
        };
        stand.say(
            wire::Done{
                .id = id, .status = 200, .body = {.in_descriptor = 5, .is_in_descriptor = true}},
            make_memfd("hello"));
        EXPECT_EQ(stand.verdict(0), Verdict::answered);
        EXPECT_THAT(stand.attempts.aboard(), IsEmpty());
    }
}

TEST(NativeAttemptsAbandoned, WhenTheirWorkerEndsAreForgotten) {
    NativeStand stand;
    const std::uint64_t flowing = stand.start(0);
    stand.say(wire::Begin{.id = flowing});
    stand.start(1);
    leave(stand, 0);
    leave(stand, 1);
    stand.attempts.close(death);
    EXPECT_THAT(stand.attempts.aboard(), IsEmpty());
}

// ── reused attempts ──────────────────────────────────────────────────────────────────────────────

TEST(NativeAttemptsReused, NeverUseANumberTwice) {
    NativeStand stand;
    std::set<std::uint64_t> ids;
    for (std::uint64_t job = 0; job < 20; ++job) {
        const std::uint64_t id = stand.start(job);
        EXPECT_TRUE(ids.insert(id).second) << "never 0, never twice";
        EXPECT_NE(id, 0U);
        if (job % 3 == 0) continue;  // some stay aboard
        stand.say(wire::Done{.id = id, .status = 200, .body = {.bytes = std::to_string(job)}});
        EXPECT_EQ(stand.answer(job).front(), std::to_string(job));
    }
    EXPECT_EQ(stand.attempts.aboard().size(), 7U);
}

TEST(NativeAttemptsReused, ForgetTheirPreviousJob) {
    NativeStand stand;
    const std::uint64_t before = stand.start(0);
    stand.say(wire::Begin{.id = before});
    stand.say(wire::Chunk{.id = before, .bytes = numbered(500)});  // paused
    stand.attempts.cancel(NativeStand::attempt(0));
    stand.say(wire::Failed{.id = before, .why = wire::FailWhy::cancelled});
    ASSERT_EQ(stand.verdict(0), Verdict::cancelled);
    stand.peer.hear();
    stand.peer.told.clear();

    const std::uint64_t id = stand.start(1, "small");
    EXPECT_EQ(id & NativeAttempts::place_mask, before & NativeAttempts::place_mask)
        << "the same attempt";
    stand.answer(0).abandon();
    stand.say(wire::Begin{.id = id});
    stand.say(wire::Chunk{.id = id, .bytes = "kept"});
    EXPECT_EQ(stand.answer(1).front(), "kept") << "this one is not cancelled";
    stand.peer.hear();
    EXPECT_THAT(stand.peer.told, IsEmpty());
    stand.say(wire::Chunk{.id = id, .bytes = numbered(500)});
    stand.peer.hear();
    EXPECT_THAT(stand.peer.told, testing::ElementsAre("pause " + std::to_string(id)));
    stand.say(wire::Done{.id = id});
    EXPECT_EQ(stand.verdict(1), Verdict::answered);
}

TEST(NativeAttemptsReused, SendASmallBodyAfterALargeOne) {
    NativeStand stand;
    const std::uint64_t before = stand.start(0, numbered(300));
    stand.say(wire::Done{.id = before, .status = 200});
    stand.start(1, "small");
    EXPECT_FALSE(stand.heard_job(1).is_in_descriptor);
    EXPECT_EQ(stand.heard_job(1).body, "small");
    EXPECT_EQ(stand.peer.files.size(), 1U);
}

TEST(NativeAttemptsReused, TakeTheNextJobWhileTheEngineHandlesAnEnd) {
    NativeStand stand;
    const std::uint64_t before = stand.start(0);
    stand.open(1, "next");
    stand.act = [&](const Event& event) {
        const auto* ended = std::get_if<AttemptEnded>(&event);
        if (ended != nullptr && ended->attempt == NativeStand::attempt(0)) stand.send(1);
    };
    stand.say(wire::Done{.id = before, .status = 200, .body = {.bytes = "first"}});
    const std::uint64_t id = stand.heard_job(1).id;
    EXPECT_EQ(id & NativeAttempts::place_mask, before & NativeAttempts::place_mask);
    EXPECT_EQ(stand.answer(0).front(), "first");
    EXPECT_EQ(stand.answer(1).state(), AnswerState::none);
    EXPECT_FALSE(stand.verdict(1));
}

}  // namespace
}  // namespace turnpike
