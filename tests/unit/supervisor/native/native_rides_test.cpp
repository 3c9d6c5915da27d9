// How jobs get to a native worker. Their answers: native_answers_test.cpp.
#include "supervisor/native/native_rides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/supervisor/native/native_trip.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(NativeRides, SendASmallJobAtOnceInOneFrame) {
    NativeTrip trip;
    trip.open(3, "hello");
    trip.send(3, 0, 1, 2);
    trip.peer.hear();
    ASSERT_EQ(trip.peer.jobs.size(), 1U) << "no turn of the loop was needed";
    const HeardJob& job = trip.peer.jobs[0];
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
    EXPECT_EQ(trip.conversation.jobs_aboard(), 1U);
    EXPECT_THAT(trip.events, IsEmpty());
}

TEST(NativeRides, SendABodyThatIsTooLargeToCopyFromWhereItLies) {
    NativeTrip trip;
    trip.store.memory_max = wire::inline_max;
    const std::string body = numbered(wire::inline_max);
    trip.open(0, body);
    trip.send(0);
    const HeardJob& job = trip.heard_job(0);
    EXPECT_FALSE(job.is_in_descriptor);
    EXPECT_TRUE(job.body == body);
}

TEST(NativeRides, TellTheWorkerThatAJobIsAside) {
    NativeTrip trip;
    trip.open(0)->is_aside = true;
    trip.send(0);
    EXPECT_EQ(trip.heard_job(0).purpose, wire::Purpose::aside);
}

TEST(NativeRides, CountAttemptsAsFarAsTheFrameDoes) {
    NativeTrip trip;
    trip.open(0);
    trip.send(0, 0, 1, 70'000);
    EXPECT_EQ(trip.heard_job(0).attempt, 65535);
}

TEST(NativeRides, SendALargeBodyByDescriptor) {
    for (const bool is_on_disk : {true, false}) {
        NativeTrip trip;
        if (!is_on_disk) trip.store.folder.clear();
        const std::string body = numbered(500);
        const ExchangePtr exchange = trip.open(0, body);
        trip.send(0);
        const HeardJob& job = trip.heard_job(0);
        EXPECT_TRUE(job.is_in_descriptor);
        EXPECT_EQ(job.length, 500U);
        EXPECT_EQ(job.body, "");
        ASSERT_EQ(trip.peer.files.size(), 1U);
        EXPECT_EQ(breach_of(trip.peer.files[0], 500), wire::Breach::none);
        EXPECT_EQ(text_of(trip.peer.files[0]), body);
    }
}

TEST(NativeRides, SendALargeBodyInMemoryByDescriptor) {
    NativeTrip trip;
    trip.store.memory_max = 2 * wire::inline_max;
    trip.open(0, numbered(wire::inline_max + 1));
    trip.send(0);
    const HeardJob& job = trip.heard_job(0);
    EXPECT_TRUE(job.is_in_descriptor);
    EXPECT_EQ(job.length, wire::inline_max + 1);
    ASSERT_EQ(trip.peer.files.size(), 1U);
    EXPECT_EQ(breach_of(trip.peer.files[0], wire::inline_max + 1), wire::Breach::none);
}

TEST(NativeRides, ForgetHowAnEarlierAttemptBroke) {
    NativeTrip trip;
    const ExchangePtr exchange = trip.open(0);
    exchange->trouble = "it died";
    exchange->last_words = "Segmentation fault";
    exchange->progress = {.permille = std::uint16_t{500}, .text = "half"};
    trip.send(0, 0, 1, 2);
    EXPECT_EQ(exchange->trouble, "");
    EXPECT_EQ(exchange->last_words, "");
    EXPECT_FALSE(exchange->progress.permille);
    EXPECT_EQ(exchange->progress.text, "");
}

// ── batches ──────────────────────────────────────────────────────────────────────────────────────

TEST(NativeRides, SendTheMembersOfABatchOneAfterTheOther) {
    NativeTrip trip;
    for (std::uint32_t job = 0; job < 3; ++job) {
        trip.open(job, "body " + std::to_string(job));
        trip.send(job, job, 3);
        trip.peer.hear();
        EXPECT_EQ(trip.peer.jobs.size(), job == 2 ? 3U : 0U);
    }
    ASSERT_EQ(trip.peer.jobs.size(), 3U);
    std::set<std::uint64_t> ids;
    for (std::uint16_t i = 0; i < 3; ++i) {
        const HeardJob& job = trip.peer.jobs[i];
        EXPECT_EQ(job.body, "body " + std::to_string(i));
        EXPECT_EQ(job.batch_index, i);
        EXPECT_EQ(job.batch_size, 3);
        ids.insert(job.id);
    }
    EXPECT_EQ(ids.size(), 3U);
}

TEST(NativeRides, LetABatchWaitForItsSlowestBody) {
    NativeTrip trip;
    trip.open(0, "small");
    trip.open(1, numbered(300));
    trip.open(2, "small, too");
    trip.open(3, numbered(200));
    trip.open(4, "another");
    std::promise<void> go = trip.hold_disk();
    for (std::uint32_t i = 0; i < 4; ++i) trip.send(i, i, 4);
    trip.send(4);
    trip.loop.poll();
    EXPECT_EQ(trip.heard_job(4).body, "another");
    EXPECT_EQ(trip.peer.jobs.size(), 1U) << "a job alone does not wait for them";
    go.set_value();
    trip.heard_job(3);
    ASSERT_EQ(trip.peer.jobs.size(), 5U);
    for (std::uint16_t i = 0; i < 4; ++i) {
        EXPECT_EQ(trip.peer.jobs[1U + i].name, "job-" + std::to_string(i));
        EXPECT_EQ(trip.peer.jobs[1U + i].batch_index, i);
        EXPECT_EQ(trip.peer.jobs[1U + i].batch_size, 4);
    }
    ASSERT_EQ(trip.peer.files.size(), 2U);
    EXPECT_EQ(text_of(trip.peer.files[0]), numbered(300));
    EXPECT_EQ(text_of(trip.peer.files[1]), numbered(200));
}

TEST(NativeRides, SendADescriptorWithItsOwnFrameNotWithTheOneBefore) {
    NativeTrip trip;
    trip.open(0, "small");
    trip.open(1, numbered(300));
    trip.send(0, 0, 2);
    trip.send(1, 1, 2);
    trip.settle();
    const std::string header = trip.peer.take_all(wire::header_size);
    std::uint32_t size = 0;  // of the first frame's payload
    std::memcpy(&size, header.data(), sizeof size);
    trip.peer.take_all(size);
    EXPECT_THAT(trip.peer.files, IsEmpty());
    trip.peer.take_all(1);
    EXPECT_EQ(trip.peer.files.size(), 1U);
}

TEST(NativeRides, LetAMemberFailAloneWhoseBodyCannotBeSealed) {
    NativeTrip trip;
    trip.open(0, "small");
    trip.open(1, numbered(400));
    trip.open(2, numbered(200));
    const FileSizeLimit limit(300);
    for (std::uint32_t i = 0; i < 3; ++i) trip.send(i, i, 3);
    trip.heard_job(2);
    EXPECT_EQ(trip.verdict(1), Verdict::model_failed);
    EXPECT_THAT(trip.exchange(1).trouble, HasSubstr("could not be put into memory: "));
    ASSERT_EQ(trip.peer.jobs.size(), 2U);
    for (std::uint16_t i = 0; i < 2; ++i) {
        EXPECT_EQ(trip.peer.jobs[i].name, i == 0 ? "job-0" : "job-2");
        EXPECT_EQ(trip.peer.jobs[i].batch_index, i);
        EXPECT_EQ(trip.peer.jobs[i].batch_size, 2) << "it is not of the batch any more";
    }
    EXPECT_EQ(trip.events.size(), 1U);
    EXPECT_EQ(trip.rides.aboard().size(), 2U);
}

TEST(NativeRides, FailAJobAloneWhoseBodyCannotBeSealed) {
    NativeTrip trip;
    const ExchangePtr exchange = trip.open(0, numbered(400));
    {
        const FileSizeLimit limit(300);
        trip.send(0);
        EXPECT_TRUE(trip.loop.run_until([&] { return trip.verdict(0).has_value(); }));
    }
    EXPECT_EQ(trip.verdict(0), Verdict::model_failed);
    EXPECT_EQ(exchange->answer.state(), AnswerState::none);
    EXPECT_THAT(trip.rides.aboard(), IsEmpty());
    trip.peer.hear();
    EXPECT_THAT(trip.peer.jobs, IsEmpty());
    EXPECT_EQ(trip.conversation.jobs_aboard(), 0U);
}

TEST(NativeRides, SendTheRestOfABatchThoughTheEngineUsesTheRideThatFailed) {
    NativeTrip trip;
    trip.open(0, "small");
    trip.open(1, numbered(400));
    trip.open(2, "next");
    trip.act = [&](const Event&) { trip.send(2); };
    const FileSizeLimit limit(300);
    trip.send(0, 0, 2);
    trip.send(1, 1, 2);
    trip.heard_job(0);
    EXPECT_EQ(trip.heard_job(2).batch_size, 1);
    EXPECT_EQ(trip.peer.jobs.size(), 2U);
    EXPECT_EQ(trip.rides.aboard().size(), 2U);
}

// ── the first ────────────────────────────────────────────────────────────────────────────────────

TEST(NativeRides, TellHowLongTheFirstJobTookThatWasAnsweredWell) {
    NativeTrip trip;
    trip.say(wire::Failed{.id = trip.start(0), .why = wire::FailWhy::exception});
    EXPECT_EQ(trip.first_jobs, 0);
    trip.say(wire::Done{.id = trip.start(1), .status = 200});
    EXPECT_EQ(trip.first_jobs, 1);
    trip.say(wire::Done{.id = trip.start(2), .status = 200});
    EXPECT_EQ(trip.first_jobs, 1);
}

// ── cancelling ───────────────────────────────────────────────────────────────────────────────────

TEST(NativeRides, TellTheWorkerOfACancelledJob) {
    NativeTrip trip;
    const std::uint64_t first = trip.start(0);
    const std::uint64_t second = trip.start(1);
    trip.rides.cancel(NativeTrip::attempt(1));
    trip.rides.cancel(NativeTrip::attempt(77));  // never heard of
    trip.peer.hear();
    EXPECT_THAT(trip.peer.told, ElementsAre("cancel " + std::to_string(second)));
    EXPECT_THAT(trip.events, IsEmpty()) << "the worker ends it";
    trip.say(wire::Done{.id = first, .status = 200});
    EXPECT_EQ(trip.verdict(0), Verdict::answered);
    trip.rides.cancel(NativeTrip::attempt(0));
    trip.peer.hear();
    EXPECT_EQ(trip.peer.told.size(), 1U) << "that one has ended";
}

TEST(NativeRides, TellTheWorkerOfACancelledJobOnlyAfterTheJobItself) {
    NativeTrip trip;
    trip.open(0, numbered(300));
    std::promise<void> go = trip.hold_disk();
    trip.send(0);
    trip.rides.cancel(NativeTrip::attempt(0));
    trip.peer.hear();
    EXPECT_THAT(trip.peer.told, IsEmpty());
    go.set_value();
    const std::uint64_t id = trip.heard_job(0).id;
    EXPECT_THAT(trip.peer.told, ElementsAre("cancel " + std::to_string(id)));
    trip.say(wire::Failed{.id = id, .why = wire::FailWhy::cancelled});
    EXPECT_EQ(trip.verdict(0), Verdict::cancelled);
}

TEST(NativeRides, EndACancelledJobAsCancelledHoweverTheWorkerEndsIt) {
    const std::vector<std::pair<wire::WorkerFrame, Verdict>> rows{
        {wire::Done{.status = 200}, Verdict::cancelled},
        {wire::Done{.status = 500}, Verdict::cancelled},
        {wire::Failed{.why = wire::FailWhy::bad_input}, Verdict::cancelled},
        {wire::Failed{.why = wire::FailWhy::exception}, Verdict::cancelled},
        {wire::Failed{.why = wire::FailWhy::non_finite}, Verdict::cancelled},
        {wire::Failed{.why = wire::FailWhy::cancelled}, Verdict::cancelled},
        // what it says of itself
        {wire::Failed{.why = wire::FailWhy::out_of_memory}, Verdict::out_of_memory},
        {wire::Failed{.why = wire::FailWhy::unhealthy}, Verdict::unhealthy}};
    for (const auto& [frame, verdict] : rows) {
        NativeTrip trip;
        const std::uint64_t id = trip.start(0);
        trip.rides.cancel(NativeTrip::attempt(0));
        trip.say(std::visit(
            [&](auto one) -> wire::WorkerFrame {
                if constexpr (requires { one.id; }) one.id = id;
                return one;
            },
            frame));
        EXPECT_EQ(trip.verdict(0), verdict) << frame.index();
        EXPECT_THAT(trip.rides.aboard(), IsEmpty());
    }
}

TEST(NativeRides, DropWhatACancelledJobStillStreams) {
    NativeTrip trip;
    const std::uint64_t id = trip.start(0);
    trip.say(wire::Begin{.id = id});
    trip.say(wire::Chunk{.id = id, .bytes = "before"});
    trip.rides.cancel(NativeTrip::attempt(0));
    trip.say(wire::Chunk{.id = id, .bytes = "after"});
    EXPECT_EQ(trip.answer(0).front(), "before");
    trip.say(wire::Done{.id = id});
    EXPECT_EQ(trip.verdict(0), Verdict::cancelled);
}

}  // namespace
}  // namespace turnpike
