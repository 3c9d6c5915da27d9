// How jobs are sent to a native worker. native_answers_test.cpp tests their answers.
#include "supervisor/native/native_attempts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/supervisor/held_thread.h"
#include "tests/unit/supervisor/native/native_stand.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(NativeAttempts, SendASmallJobAtOnceInOneFrame) {
    NativeStand stand;
    stand.open(3, "hello");
    stand.send(3, 0, 1, 2);
    stand.peer.hear();
    ASSERT_EQ(stand.peer.jobs.size(), 1U) << "no turn of the loop was needed";
    const HeardJob& job = stand.peer.jobs[0];
    EXPECT_NE(job.id, 0U);
    EXPECT_EQ(job.attempt, 2);
    EXPECT_EQ(job.purpose, wire::Purpose::job);
    EXPECT_EQ(job.batch_index, 0);
    EXPECT_EQ(job.batch_size, 1);
    EXPECT_EQ(job.name, "job-3");
    EXPECT_EQ(job.method, "POST");
    EXPECT_EQ(job.target, "/predict?n=3");
    EXPECT_EQ(job.fields, "Host: client\r\n");
    EXPECT_EQ(job.body, "hello");
    EXPECT_FALSE(job.is_in_descriptor);
    EXPECT_EQ(stand.conversation.jobs_aboard(), 1U);
    EXPECT_THAT(stand.events, IsEmpty());
}

TEST(NativeAttempts, SendABodyThatIsTooLargeToCopyFromWhereItLies) {
    NativeStand stand;
    stand.store.memory_max = wire::inline_max;
    const std::string body = numbered(wire::inline_max);
    stand.open(0, body);
    stand.send(0);
    const HeardJob& job = stand.heard_job(0);
    EXPECT_FALSE(job.is_in_descriptor);
    EXPECT_TRUE(job.body == body);
}

TEST(NativeAttempts, TellTheWorkerThatAJobIsAside) {
    NativeStand stand;
    stand.open(0)->is_aside = true;
    stand.send(0);
    EXPECT_EQ(stand.heard_job(0).purpose, wire::Purpose::aside);
}

TEST(NativeAttempts, CountAttemptsAsFarAsTheFrameDoes) {
    NativeStand stand;
    stand.open(0);
    stand.send(0, 0, 1, 70'000);
    EXPECT_EQ(stand.heard_job(0).attempt, 65535);
}

TEST(NativeAttempts, SendALargeBodyByDescriptor) {
    for (const bool is_on_disk : {true, false}) {
        NativeStand stand;
        if (!is_on_disk) stand.store.folder.clear();
        const std::string body = numbered(500);
        const ExchangePtr exchange = stand.open(0, body);
        stand.send(0);
        const HeardJob& job = stand.heard_job(0);
        EXPECT_TRUE(job.is_in_descriptor);
        EXPECT_EQ(job.length, 500U);
        EXPECT_EQ(job.body, "");
        ASSERT_EQ(stand.peer.files.size(), 1U);
        EXPECT_EQ(breach_of(stand.peer.files[0], 500), wire::Breach::none);
        EXPECT_EQ(text_of(stand.peer.files[0]), body);
    }
}

TEST(NativeAttempts, SendALargeBodyInMemoryByDescriptor) {
    NativeStand stand;
    stand.store.memory_max = 2 * wire::inline_max;
    stand.open(0, numbered(wire::inline_max + 1));
    stand.send(0);
    const HeardJob& job = stand.heard_job(0);
    EXPECT_TRUE(job.is_in_descriptor);
    EXPECT_EQ(job.length, wire::inline_max + 1);
    ASSERT_EQ(stand.peer.files.size(), 1U);
    EXPECT_EQ(breach_of(stand.peer.files[0], wire::inline_max + 1), wire::Breach::none);
}

TEST(NativeAttempts, ForgetHowAnEarlierAttemptBroke) {
    NativeStand stand;
    const ExchangePtr exchange = stand.open(0);
    exchange->attempt.begin(AttemptId{1}, Generation{1}, Instant{});
    exchange->attempt.trouble = {
        .cause = Cause::worker_died, .told = "exit code 3", .said = "Segmentation fault"};
    exchange->attempt.progress = {.permille = std::uint16_t{500}, .text = "half"};
    exchange->attempt.stacks = "Thread 1";
    stand.send(0, 0, 1, 2);
    EXPECT_EQ(exchange->attempt.trouble, Trouble{});
    EXPECT_FALSE(exchange->attempt.progress.permille);
    EXPECT_EQ(exchange->attempt.progress.text, "");
    EXPECT_EQ(exchange->attempt.stacks, "");
}

// ── batches ──────────────────────────────────────────────────────────────────────────────────────

TEST(NativeAttempts, SendTheMembersOfABatchOneAfterTheOther) {
    NativeStand stand;
    for (std::uint32_t job = 0; job < 3; ++job) {
        stand.open(job, "body " + std::to_string(job));
        stand.send(job, job, 3);
        stand.peer.hear();
        EXPECT_EQ(stand.peer.jobs.size(), job == 2 ? 3U : 0U);
    }
    ASSERT_EQ(stand.peer.jobs.size(), 3U);
    std::set<std::uint64_t> ids;
    for (std::uint16_t i = 0; i < 3; ++i) {
        const HeardJob& job = stand.peer.jobs[i];
        EXPECT_EQ(job.body, "body " + std::to_string(i));
        EXPECT_EQ(job.batch_index, i);
        EXPECT_EQ(job.batch_size, 3);
        ids.insert(job.id);
    }
    EXPECT_EQ(ids.size(), 3U);
}

TEST(NativeAttempts, LetABatchWaitForItsSlowestBody) {
    NativeStand stand;
    stand.open(0, "small");
    stand.open(1, numbered(300));
    stand.open(2, "small, too");
    stand.open(3, numbered(200));
    stand.open(4, "another");
    std::promise<void> go = hold(stand.background);
    for (std::uint32_t i = 0; i < 4; ++i) stand.send(i, i, 4);
    stand.send(4);
    stand.loop.poll();
    EXPECT_EQ(stand.heard_job(4).body, "another");
    EXPECT_EQ(stand.peer.jobs.size(), 1U) << "a job alone does not wait for them";
    go.set_value();
    stand.heard_job(3);
    ASSERT_EQ(stand.peer.jobs.size(), 5U);
    for (std::uint16_t i = 0; i < 4; ++i) {
        EXPECT_EQ(stand.peer.jobs[1U + i].name, "job-" + std::to_string(i));
        EXPECT_EQ(stand.peer.jobs[1U + i].batch_index, i);
        EXPECT_EQ(stand.peer.jobs[1U + i].batch_size, 4);
    }
    ASSERT_EQ(stand.peer.files.size(), 2U);
    EXPECT_EQ(text_of(stand.peer.files[0]), numbered(300));
    EXPECT_EQ(text_of(stand.peer.files[1]), numbered(200));
}

TEST(NativeAttempts, SendADescriptorWithItsOwnFrameNotWithTheOneBefore) {
    NativeStand stand;
    stand.open(0, "small");
    stand.open(1, numbered(300));
    stand.send(0, 0, 2);
    stand.send(1, 1, 2);
    stand.settle();
    const std::string header = stand.peer.take_all(wire::header_size);
    std::uint32_t size = 0;  // of the first frame's payload
    std::memcpy(&size, header.data(), sizeof size);
    stand.peer.take_all(size);
    EXPECT_THAT(stand.peer.files, IsEmpty());
    stand.peer.take_all(1);
    EXPECT_EQ(stand.peer.files.size(), 1U);
}

TEST(NativeAttempts, LetAMemberFailAloneWhoseBodyCannotBeSealed) {
    NativeStand stand;
    stand.open(0, "small");
    stand.open(1, numbered(400));
    stand.open(2, numbered(200));
    const FileSizeLimit limit(300);
    for (std::uint32_t i = 0; i < 3; ++i) stand.send(i, i, 3);
    stand.heard_job(2);
    EXPECT_EQ(stand.verdict(1), Verdict::shortage);
    EXPECT_EQ(stand.exchange(1).attempt.trouble.cause, Cause::body_not_stored);
    EXPECT_NE(stand.exchange(1).attempt.trouble.told, "");
    ASSERT_EQ(stand.peer.jobs.size(), 2U);
    for (std::uint16_t i = 0; i < 2; ++i) {
        EXPECT_EQ(stand.peer.jobs[i].name, i == 0 ? "job-0" : "job-2");
        EXPECT_EQ(stand.peer.jobs[i].batch_index, i);
        EXPECT_EQ(stand.peer.jobs[i].batch_size, 2) << "it is not of the batch any more";
    }
    EXPECT_EQ(stand.events.size(), 1U);
    EXPECT_EQ(stand.attempts.aboard().size(), 2U);
}

TEST(NativeAttempts, FailAJobAloneWhoseBodyCannotBeSealed) {
    NativeStand stand;
    const ExchangePtr exchange = stand.open(0, numbered(400));
    {
        const FileSizeLimit limit(300);
        stand.send(0);
        EXPECT_TRUE(stand.loop.run_until([&] { return stand.verdict(0).has_value(); }));
    }
    EXPECT_EQ(stand.verdict(0), Verdict::shortage);
    EXPECT_EQ(exchange->answer.state(), AnswerState::none);
    EXPECT_THAT(stand.attempts.aboard(), IsEmpty());
    stand.peer.hear();
    EXPECT_THAT(stand.peer.jobs, IsEmpty());
    EXPECT_EQ(stand.conversation.jobs_aboard(), 0U);
}

TEST(NativeAttempts, SendTheRestOfABatchThoughTheEngineUsesTheRideThatFailed) {
    NativeStand stand;
    stand.open(0, "small");
    stand.open(1, numbered(400));
    stand.open(2, "next");
    stand.act = [&](const Event&) { stand.send(2); };
    const FileSizeLimit limit(300);
    stand.send(0, 0, 2);
    stand.send(1, 1, 2);
    stand.heard_job(0);
    EXPECT_EQ(stand.heard_job(2).batch_size, 1);
    EXPECT_EQ(stand.peer.jobs.size(), 2U);
    EXPECT_EQ(stand.attempts.aboard().size(), 2U);
}

// ── the first job ────────────────────────────────────────────────────────────────────────────────

TEST(NativeAttempts, TellHowLongTheFirstJobTookThatWasAnsweredWell) {
    NativeStand stand;
    stand.say(wire::Failed{.id = stand.start(0), .why = wire::FailWhy::exception});
    EXPECT_EQ(stand.first_jobs, 0);
    stand.say(wire::Done{.id = stand.start(1), .status = 200});
    EXPECT_EQ(stand.first_jobs, 1);
    stand.say(wire::Done{.id = stand.start(2), .status = 200});
    EXPECT_EQ(stand.first_jobs, 1);
}

// ── cancelling ───────────────────────────────────────────────────────────────────────────────────

TEST(NativeAttempts, TellTheWorkerOfACancelledJob) {
    NativeStand stand;
    const std::uint64_t first = stand.start(0);
    const std::uint64_t second = stand.start(1);
    stand.attempts.cancel(NativeStand::attempt(1));
    stand.attempts.cancel(NativeStand::attempt(77));  // there is no such attempt
    stand.peer.hear();
    EXPECT_THAT(stand.peer.told, ElementsAre("cancel " + std::to_string(second)));
    EXPECT_THAT(stand.events, IsEmpty()) << "the worker ends it";
    stand.say(wire::Done{.id = first, .status = 200});
    EXPECT_EQ(stand.verdict(0), Verdict::answered);
    stand.attempts.cancel(NativeStand::attempt(0));
    stand.peer.hear();
    EXPECT_EQ(stand.peer.told.size(), 1U) << "that one has ended";
}

TEST(NativeAttempts, TellTheWorkerOfACancelledJobOnlyAfterTheJobItself) {
    NativeStand stand;
    stand.open(0, numbered(300));
    std::promise<void> go = hold(stand.background);
    stand.send(0);
    stand.attempts.cancel(NativeStand::attempt(0));
    stand.peer.hear();
    EXPECT_THAT(stand.peer.told, IsEmpty());
    go.set_value();
    const std::uint64_t id = stand.heard_job(0).id;
    EXPECT_THAT(stand.peer.told, ElementsAre("cancel " + std::to_string(id)));
    stand.say(wire::Failed{.id = id, .why = wire::FailWhy::cancelled});
    EXPECT_EQ(stand.verdict(0), Verdict::cancelled);
}

TEST(NativeAttempts, EndACancelledJobAsCancelledHoweverTheWorkerEndsIt) {
    const std::vector<std::pair<wire::WorkerFrame, Verdict>> rows{
        {wire::Done{.status = 200}, Verdict::cancelled},
        {wire::Done{.status = 500}, Verdict::cancelled},
        {wire::Failed{.why = wire::FailWhy::bad_input}, Verdict::cancelled},
        {wire::Failed{.why = wire::FailWhy::exception}, Verdict::cancelled},
        {wire::Failed{.why = wire::FailWhy::non_finite}, Verdict::cancelled},
        {wire::Failed{.why = wire::FailWhy::cancelled}, Verdict::cancelled},
        // these are about the worker
        {wire::Failed{.why = wire::FailWhy::out_of_memory}, Verdict::out_of_memory},
        {wire::Failed{.why = wire::FailWhy::unhealthy}, Verdict::unhealthy}};
    for (const auto& [frame, verdict] : rows) {
        NativeStand stand;
        const std::uint64_t id = stand.start(0);
        stand.attempts.cancel(NativeStand::attempt(0));
        stand.say(std::visit(
            [&](auto one) -> wire::WorkerFrame {
                if constexpr (requires { one.id; }) one.id = id;
                return one;
            },
            frame));
        EXPECT_EQ(stand.verdict(0), verdict) << frame.index();
        EXPECT_THAT(stand.attempts.aboard(), IsEmpty());
    }
}

TEST(NativeAttempts, DropWhatACancelledJobStillStreams) {
    NativeStand stand;
    const std::uint64_t id = stand.start(0);
    stand.say(wire::Begin{.id = id});
    stand.say(wire::Chunk{.id = id, .bytes = "before"});
    stand.attempts.cancel(NativeStand::attempt(0));
    stand.say(wire::Chunk{.id = id, .bytes = "after"});
    EXPECT_EQ(stand.answer(0).front(), "before");
    stand.say(wire::Done{.id = id});
    EXPECT_EQ(stand.verdict(0), Verdict::cancelled);
}

}  // namespace
}  // namespace turnpike
