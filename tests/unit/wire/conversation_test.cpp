// The order of frames: which frame may follow which, for the worker and for each of its jobs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/conversation.h"

namespace turnpike::wire {
namespace {

constexpr std::size_t mebibyte = 1024 * 1024;

/// Returns the conversation with a worker that has sent hello and ready, with jobs 1 and 2 aboard.
Conversation busy() {
    Conversation conversation;
    EXPECT_EQ(conversation.heard(Hello{}), Breach::none);
    EXPECT_EQ(conversation.heard(Ready{}), Breach::none);
    conversation.sent(1);
    conversation.sent(2);
    return conversation;
}

/// Expects that all frames are accepted except the last, which gives `last`.
void expect_last(Conversation conversation, const std::vector<WorkerFrame>& frames, Breach last) {
    for (std::size_t i = 0; i + 1 < frames.size(); ++i)
        ASSERT_EQ(conversation.heard(frames[i]), Breach::none) << "frame " << i;
    EXPECT_EQ(name_of(conversation.heard(frames.back())), name_of(last));
}

TEST(Conversation, AcceptsAWholeConversation) {
    Conversation conversation;
    EXPECT_EQ(conversation.heard(Hello{.version_min = 1, .version_max = 9}), Breach::none);
    conversation.pinged(1);
    EXPECT_EQ(conversation.heard(Log{}), Breach::none);
    EXPECT_EQ(conversation.heard(Loading{}), Breach::none);
    EXPECT_EQ(conversation.heard(Pong{.id = 1}), Breach::none);
    EXPECT_EQ(conversation.heard(Loading{}), Breach::none);
    EXPECT_FALSE(conversation.is_ready());
    EXPECT_EQ(conversation.heard(Ready{}), Breach::none);
    EXPECT_TRUE(conversation.is_ready());
    for (const std::uint64_t job : {1U, 2U, 3U}) conversation.sent(job);
    EXPECT_EQ(conversation.jobs_aboard(), 3U);
    EXPECT_EQ(conversation.heard(Progress{.id = 3}), Breach::none);
    EXPECT_EQ(conversation.heard(Begin{.id = 2}), Breach::none);
    EXPECT_EQ(conversation.heard(Done{.id = 3, .status = 200}), Breach::none);
    EXPECT_EQ(conversation.heard(Chunk{.id = 2, .bytes = "x"}), Breach::none);
    EXPECT_EQ(conversation.heard(Progress{.id = 2}), Breach::none);
    EXPECT_EQ(conversation.heard(Failed{.id = 1}), Breach::none);
    EXPECT_EQ(conversation.heard(Log{}), Breach::none);
    EXPECT_EQ(conversation.heard(Done{.id = 2}), Breach::none);
    EXPECT_EQ(conversation.jobs_aboard(), 0U);
}

TEST(Conversation, BeginsWithHello) {
    const std::vector<WorkerFrame> others{
        Loading{}, Ready{},       Progress{.id = 1}, Begin{.id = 1}, Chunk{.id = 1, .bytes = "x"},
        Log{},     Done{.id = 1}, Failed{.id = 1},   Pong{.id = 1},  Stacks{.id = 1},
    };
    for (const WorkerFrame& frame : others) expect_last({}, {frame}, Breach::hello_missing);
    expect_last({}, {Hello{}, Hello{}}, Breach::hello_again);
    expect_last(busy(), {Hello{}}, Breach::hello_again);
}

TEST(Conversation, NeedsAVersionThatWeKnow) {
    expect_last({}, {Hello{.version_min = 0, .version_max = 0}}, Breach::no_common_version);
    expect_last({}, {Hello{.version_min = 2, .version_max = 9}}, Breach::no_common_version);
    expect_last({}, {Hello{.version_min = 0, .version_max = 1}}, Breach::none);
}

TEST(Conversation, IsReadyOnce) {
    expect_last(busy(), {Ready{}}, Breach::ready_again);
    expect_last(busy(), {Loading{}}, Breach::loading_after_ready);
}

TEST(Conversation, KnowsWhichJobsAreAboard) {
    for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{3}, ~std::uint64_t{0}}) {
        expect_last(busy(), {Progress{.id = id}}, Breach::job_not_aboard);
        expect_last(busy(), {Begin{.id = id}}, Breach::job_not_aboard);
        expect_last(busy(), {Chunk{.id = id, .bytes = "x"}}, Breach::job_not_aboard);
        expect_last(busy(), {Done{.id = id, .status = 200}}, Breach::job_not_aboard);
        expect_last(busy(), {Done{.id = id}}, Breach::job_not_aboard);
        expect_last(busy(), {Failed{.id = id}}, Breach::job_not_aboard);
    }
}

TEST(Conversation, HasNoJobBeforeReady) {
    expect_last({}, {Hello{}, Progress{.id = 1}}, Breach::job_not_aboard);
    expect_last({}, {Hello{}, Failed{.id = 1}}, Breach::job_not_aboard);
}

TEST(Conversation, EndsAJobOnce) {
    const WorkerFrame done = Done{.id = 1, .status = 200};
    const WorkerFrame failed = Failed{.id = 1};
    for (const WorkerFrame& end : {done, failed})
        for (const WorkerFrame& again : {done, failed})
            expect_last(busy(), {end, again}, Breach::job_not_aboard);
    expect_last(busy(), {Begin{.id = 1}, Done{.id = 1}, Chunk{.id = 1}}, Breach::job_not_aboard);
    expect_last(busy(), {done, Progress{.id = 1}}, Breach::job_not_aboard);
    expect_last(busy(), {done, Done{.id = 2, .status = 200}}, Breach::none);
}

TEST(Conversation, StreamsOnlyWhatBegan) {
    expect_last(busy(), {Chunk{.id = 1}}, Breach::chunk_before_begin);
    expect_last(busy(), {Begin{.id = 2}, Chunk{.id = 1}}, Breach::chunk_before_begin);
    expect_last(busy(), {Begin{.id = 1}, Begin{.id = 1}}, Breach::begin_again);
    expect_last(busy(), {Begin{.id = 1}, Begin{.id = 2}}, Breach::none);
    expect_last(busy(), {Begin{.id = 1}, Failed{.id = 1}}, Breach::none);
}

TEST(Conversation, HasOneStatusForEachAnswer) {
    expect_last(busy(), {Done{.id = 1}}, Breach::status_missing);
    expect_last(busy(), {Begin{.id = 1}, Done{.id = 1, .status = 200}}, Breach::status_again);
    expect_last(busy(), {Begin{.id = 1}, Done{.id = 2, .status = 200}}, Breach::none);
}

TEST(Conversation, HearsOnlyAnswersToWhatWasAsked) {
    Conversation asked = busy();
    asked.pinged(5);
    asked.asked_stacks(6);
    expect_last(asked, {Pong{.id = 6}}, Breach::pong_unasked);
    expect_last(asked, {Stacks{.id = 5}}, Breach::stacks_unasked);
    expect_last(asked, {Stacks{.id = 6}, Pong{.id = 5}}, Breach::none);
    expect_last(asked, {Pong{.id = 5}, Pong{.id = 5}}, Breach::pong_unasked);
    expect_last(asked, {Stacks{.id = 6}, Stacks{.id = 6}}, Breach::stacks_unasked);
    expect_last(busy(), {Pong{.id = 0}}, Breach::pong_unasked);
}

TEST(Conversation, BoundsWhatComesAfterPause) {
    const std::string bytes(mebibyte, 'x');
    const Chunk chunk{.id = 1, .bytes = bytes};
    Conversation conversation = busy();
    EXPECT_EQ(conversation.heard(Begin{.id = 1}), Breach::none);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(conversation.heard(chunk), Breach::none);
    conversation.paused(1);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(conversation.heard(chunk), Breach::none);
    conversation.paused(1);  // a second pause changes nothing
    for (int i = 0; i < 4; ++i) EXPECT_EQ(conversation.heard(chunk), Breach::none);
    Conversation resumed = conversation;
    EXPECT_EQ(conversation.heard(Chunk{.id = 1, .bytes = "x"}), Breach::pause_ignored);

    resumed.resumed(1);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(resumed.heard(chunk), Breach::none);
    resumed.paused(1);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(resumed.heard(chunk), Breach::none);
    EXPECT_EQ(resumed.heard(chunk), Breach::pause_ignored);
}

TEST(Conversation, CountsEachPausedJobAlone) {
    const std::string bytes(mebibyte, 'x');
    Conversation conversation = busy();
    EXPECT_EQ(conversation.heard(Begin{.id = 1}), Breach::none);
    EXPECT_EQ(conversation.heard(Begin{.id = 2}), Breach::none);
    conversation.paused(1);
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(conversation.heard(Chunk{.id = 2, .bytes = bytes}), Breach::none);
    EXPECT_EQ(conversation.heard(Done{.id = 1}), Breach::none);
}

TEST(Conversation, IgnoresAPauseThatComesTooLate) {
    Conversation conversation = busy();
    EXPECT_EQ(conversation.heard(Failed{.id = 1}), Breach::none);
    conversation.paused(1);
    conversation.resumed(1);
    EXPECT_EQ(conversation.jobs_aboard(), 1U);
}

TEST(ConversationDeathTest, ChecksWhatTheGateSends) {
    Conversation conversation;
    EXPECT_DEATH(conversation.sent(1), "is_ready");
    conversation = busy();
    EXPECT_DEATH(conversation.sent(0), "job");
    EXPECT_DEATH(conversation.sent(2), "find");
}

TEST(Conversation, JudgesNothingAfterABreach) {
    Conversation conversation = busy();
    EXPECT_EQ(conversation.heard(Ready{}), Breach::ready_again);
    EXPECT_EQ(conversation.heard(Done{.id = 1, .status = 200}), Breach::ready_again);
}

}  // namespace
}  // namespace turnpike::wire
