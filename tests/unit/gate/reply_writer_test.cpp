// The writer of answers: each row of its table, whom it can tell of a break, memory and counts.
// That it does not matter how much is written at once: reply_writer_steps_test.cpp.
#include "gate/reply_writer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "tests/unit/gate/reply_writer_fixture.h"

namespace turnpike {
namespace {

using State = ReplyWriter::State;
using Next = ReplyWriter::Next;

#define EXPECT_STEP(next_step, then)                   \
    do {                                               \
        EXPECT_EQ(writing.reply.next(), next_step);    \
        EXPECT_EQ(writing.reply.state(), State::then); \
    } while (false)

// ── the table ────────────────────────────────────────────────────────────────────────────────────

TEST(ReplyWriter, HasNothingToWriteWhileItIsIdle) {
    Writing writing;
    EXPECT_STEP(Next::later, idle);
    writing.reply.say_continue();
    EXPECT_STEP(Next::bytes, idle);
    EXPECT_EQ(writing.reply.pieces().first, continue_line);
    writing.write(100);
    EXPECT_STEP(Next::later, idle);
}

TEST(ReplyWriter, WritesTheRestOf100ContinueBeforeTheAnswer) {
    Writing writing;
    writing.reply.say_continue();
    writing.write(5);
    writing.reply.begin_own(own_reply, {});
    EXPECT_EQ(writing.write_all(), Next::finished);
    EXPECT_EQ(writing.got, std::string(continue_line) + own_text());
}

TEST(ReplyWriter, WritesAReplyOfOurOwn) {
    Writing writing;
    writing.reply.begin_own(own_reply, {});
    EXPECT_STEP(Next::bytes, own);
    writing.write(10);
    EXPECT_STEP(Next::bytes, own);
    writing.write(1000);
    EXPECT_STEP(Next::finished, own);
    EXPECT_STEP(Next::finished, own);
    EXPECT_EQ(writing.got, own_text());
    EXPECT_EQ(writing.reply.body_bytes_taken(), Bytes{0});
}

TEST(ReplyWriter, WritesAProblemAndAPreflight) {
    Writing writing;
    const ProblemReply problem{.text = trouble, .retry_after = 3s, .marks = &marks};
    std::string expected;
    append_problem_reply(expected, problem, {});
    writing.reply.begin_problem(problem, {});
    EXPECT_STEP(Next::bytes, own);
    EXPECT_EQ(writing.write_all(), Next::finished);
    writing.reply.clear();
    append_preflight_reply(expected, "PUT", "X-A", {});
    writing.reply.begin_preflight("PUT", "X-A", {});
    EXPECT_STEP(Next::bytes, own);
    EXPECT_EQ(writing.write_all(), Next::finished);
    EXPECT_EQ(writing.got, expected);
}

TEST(ReplyWriter, WritesAnAnswerInChunksAsItComes) {
    Writing writing;
    writing.begin(plain);
    EXPECT_STEP(Next::bytes, flowing);
    writing.write(1000);
    EXPECT_EQ(writing.got, head_text(plain));
    EXPECT_STEP(Next::later, flowing);
    writing.append_to_answer("hello");
    EXPECT_STEP(Next::bytes, flowing);
    EXPECT_EQ(writing.reply.pieces().first, "5\r\nhello\r\n");
    EXPECT_EQ(writing.reply.pieces().second, "");
    writing.write(1000);
    EXPECT_STEP(Next::later, flowing);
    writing.answer->complete();
    EXPECT_STEP(Next::bytes, drained);
    writing.write(1);
    EXPECT_STEP(Next::bytes, drained);
    writing.write(1000);
    EXPECT_STEP(Next::finished, drained);
    EXPECT_STEP(Next::finished, drained);
    EXPECT_EQ(writing.got, head_text(plain) + "5\r\nhello\r\n0\r\n\r\n");
}

TEST(ReplyWriter, WritesAnAnswerWithALengthFromWhereItWaits) {
    Writing writing;
    writing.begin(with_length(10));
    writing.append_to_answer("hello");
    EXPECT_STEP(Next::bytes, flowing);
    EXPECT_EQ(writing.reply.pieces().first, head_text(with_length(10)));
    EXPECT_EQ(writing.reply.pieces().second, "hello");
    EXPECT_EQ(writing.reply.pieces().second.data(), writing.answer->front().data()) << "no copy";
    writing.write(writing.reply.pieces().first.size() + 2);
    EXPECT_EQ(writing.reply.pieces().first, "");
    EXPECT_EQ(writing.reply.pieces().second, "llo");
    writing.write(1000);
    EXPECT_STEP(Next::later, flowing);
    writing.append_to_answer("world");
    writing.answer->complete();
    EXPECT_STEP(Next::bytes, flowing);
    writing.write(1000);
    EXPECT_STEP(Next::finished, drained);
    EXPECT_STEP(Next::finished, drained);
    EXPECT_EQ(words_of(writing.got), "200 keep \"helloworld\"");
}

TEST(ReplyWriter, WritesAnAnswerToAnOldClientUntilTheEnd) {
    Writing writing;
    writing.begin(plain, http_1_0);
    writing.append_to_answer("hello");
    EXPECT_STEP(Next::bytes, flowing);
    EXPECT_EQ(writing.reply.pieces().second, "hello");
    writing.write(1000);
    EXPECT_STEP(Next::later, flowing);
    writing.answer->complete();
    EXPECT_STEP(Next::finished, drained);
    EXPECT_EQ(words_of(writing.got), "200 close \"hello\"");
}

TEST(ReplyWriter, WritesAnAnswerWithoutABody) {
    for (const AnswerHead& head : {AnswerHead{.status = 204, .has_body = false}, with_length(0)}) {
        Writing writing;
        writing.begin(head);
        EXPECT_STEP(Next::bytes, flowing);
        writing.write(1000);
        EXPECT_STEP(Next::later, flowing);
        writing.answer->complete();
        EXPECT_STEP(Next::finished, drained);
        EXPECT_EQ(writing.got, head_text(head));
    }
}

TEST(ReplyWriter, WaitsForTheJobIfTheWorkerBrokeTheAnswerOff) {
    Writing writing;
    writing.begin(events);
    writing.append_to_answer("hello");
    writing.answer->break_off();
    EXPECT_EQ(writing.write_all(), Next::later);
    EXPECT_EQ(writing.reply.state(), State::flowing);
    EXPECT_EQ(writing.got, head_text(events) + as_chunk("hello"));
}

TEST(ReplyWriter, AsksForTheBodyThatAWorkerPassedInAFile) {
    for (const AnswerHead& head : {plain, with_length(500)}) {
        Writing writing;
        writing.begin(head);
        UniqueFd file(::memfd_create("turnpike-test-reply", MFD_CLOEXEC));
        const std::string body = numbered(500);
        ASSERT_EQ(::pwrite(file.get(), body.data(), body.size(), 0), 500);
        writing.answer->adopt(std::move(file), body.size());
        writing.answer->complete();
        EXPECT_TRUE(writing.loop.run_until([&] { return writing.write_all() == Next::finished; }));
        EXPECT_EQ(words_of(writing.got), "200 keep \"" + body + "\"");
        EXPECT_EQ(writing.reply.body_bytes_taken(), Bytes{500});
    }
}

TEST(ReplyWriter, WritesAnAnswerThatWasSpooled) {
    for (const AnswerHead& head : {plain, with_length(500)}) {
        Writing writing;
        writing.store.memory_max = 100;
        writing.begin(head);
        const std::string body = numbered(500);
        for (std::size_t at = 0; at < body.size(); at += 20)
            writing.append_to_answer(std::string_view(body).substr(at, 20));
        writing.settle();
        writing.answer->complete();
        EXPECT_TRUE(writing.loop.run_until([&] { return writing.write_all(7) == Next::finished; }));
        EXPECT_EQ(words_of(writing.got), "200 keep \"" + body + "\"");
    }
}

/// An answer of which a part is on disk, and nothing of it can be read back.
struct LosingWriting : Writing {
    LosingWriting() {
        store.memory_max = 100;
        begin(events);
        for (int i = 0; i < 25; ++i) {
            append_to_answer(numbered(20));
            settle();
        }
        settle();
        truncate_open_files(folder.file(""));
    }
};

TEST(ReplyWriter, BreaksIfOurOwnDiskLosesTheAnswer) {
    LosingWriting writing;
    EXPECT_EQ(writing.write_all(), Next::later);
    writing.settle();
    ASSERT_EQ(writing.answer->state(), AnswerState::lost);
    EXPECT_STEP(Next::broken, flowing);
}

TEST(ReplyWriter, BreaksIfOurOwnDiskLosesAnAnswerThatIsBreaking) {
    LosingWriting writing;
    writing.answer->break_off();
    writing.reply.break_off(trouble);
    EXPECT_EQ(writing.write_all(), Next::later);
    writing.settle();
    ASSERT_EQ(writing.answer->state(), AnswerState::lost);
    EXPECT_STEP(Next::broken, breaking);
}

TEST(ReplyWriter, EndsABrokenStreamWithAnEventAfterAllThatTheWorkerSent) {
    Writing writing;
    writing.begin(events);
    EXPECT_EQ(writing.write_all(), Next::later);
    writing.append_to_answer("data: 1\n\n");
    writing.answer->break_off();
    writing.reply.break_off(trouble);
    EXPECT_STEP(Next::bytes, breaking);
    writing.write(1000);
    EXPECT_STEP(Next::bytes, telling);
    writing.write(20);
    EXPECT_STEP(Next::bytes, telling);
    writing.write(1000);
    EXPECT_STEP(Next::broken, telling);
    EXPECT_STEP(Next::broken, telling);
    EXPECT_EQ(writing.got, head_text(events) + as_chunk("data: 1\n\n") + as_chunk(event_text()));
}

TEST(ReplyWriter, WaitsForTheDiskBeforeTheLastEventOfABrokenStream) {
    Writing writing;
    writing.store.memory_max = 100;
    writing.begin(events);
    const std::string body = numbered(500);
    for (std::size_t at = 0; at < body.size(); at += 20)
        writing.append_to_answer(std::string_view(body).substr(at, 20));
    writing.settle();
    writing.answer->break_off();
    writing.reply.break_off(trouble);
    EXPECT_EQ(writing.write_all(), Next::later);
    EXPECT_EQ(writing.reply.state(), State::breaking);
    EXPECT_TRUE(writing.loop.run_until([&] { return writing.write_all() == Next::broken; }));
    EXPECT_EQ(words_of(writing.got),
              "200 keep \"" + body + "\n\n" + event_text() + "\" fault truncated");
}

TEST(ReplyWriter, DropsWhatIsLeftOfAnAnswerWhoseWorkerGoesOn) {
    Writing writing;
    writing.begin(events);
    EXPECT_EQ(writing.write_all(), Next::later);
    writing.append_to_answer("data: 1\n\n");
    writing.reply.break_off(trouble);
    writing.append_to_answer("data: 2\n\n");
    EXPECT_EQ(writing.write_all(), Next::broken);
    EXPECT_EQ(writing.got, head_text(events) + as_chunk(event_text()));
}

// ── who can be told of a break ───────────────────────────────────────────────────────────────────

TEST(ReplyWriter, CanTellOnlyTheClientOfAStreamOfEvents) {
    AnswerHead events_with_length = events;
    events_with_length.has_length = true;
    events_with_length.length = 100;
    AnswerHead no_events = events;
    no_events.has_body = false;
    const auto can_tell = [](const AnswerHead& head, const ReplyOptions& options = {}) {
        Writing writing;
        writing.begin(head, options);
        return writing.reply.can_tell_of_break();
    };
    EXPECT_TRUE(can_tell(events));
    EXPECT_TRUE(can_tell(events, http_1_0));
    EXPECT_FALSE(can_tell(plain));
    EXPECT_FALSE(can_tell(events_with_length)) << "the event has no place";
    EXPECT_FALSE(can_tell(no_events));
}

TEST(ReplyWriter, CanTellNobodyOutsideOfAnAnswer) {
    Writing writing;
    EXPECT_FALSE(writing.reply.can_tell_of_break());
    writing.reply.begin_own(own_reply, {});
    EXPECT_FALSE(writing.reply.can_tell_of_break());
    writing.reply.clear();
    writing.begin(events);
    writing.answer->complete();
    EXPECT_EQ(writing.write_all(), Next::finished);
    EXPECT_FALSE(writing.reply.can_tell_of_break()) << "the last chunk is out";
    writing.reply.clear();
    EXPECT_FALSE(writing.reply.can_tell_of_break());
}

// ── memory and counts ────────────────────────────────────────────────────────────────────────────

TEST(ReplyWriter, CopiesNoMoreThanTwoChunksForASlowClient) {
    Writing writing;
    writing.begin(plain);
    writing.append_to_answer(numbered(10 * chunk_max));
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(writing.reply.next(), Next::bytes);
        writing.write(1);
        ASSERT_LE(writing.reply.pieces().first.size(), 2 * chunk_max + 1000);
    }
}

TEST(ReplyWriter, CountsTheBodyWithoutItsFraming) {
    Writing chunked;
    chunked.begin(plain);
    chunked.append_to_answer("hello");
    EXPECT_EQ(chunked.reply.body_bytes_taken(), Bytes{0});
    chunked.reply.next();
    EXPECT_EQ(chunked.reply.body_bytes_taken(), Bytes{5}) << "once they are copied";
    Writing direct;
    direct.begin(with_length(5));
    direct.append_to_answer("hello");
    direct.reply.next();
    direct.write(direct.reply.pieces().first.size() + 3);
    EXPECT_EQ(direct.reply.body_bytes_taken(), Bytes{3}) << "as they are written";
}

TEST(ReplyWriter, ForgetsEverythingForTheNextRequest) {
    Writing writing;
    writing.begin(events);
    writing.append_to_answer("data: 1");
    writing.write_all(10);
    writing.reply.break_off(trouble);
    writing.reply.next();
    writing.write(3);
    writing.reply.clear();
    EXPECT_EQ(writing.reply.state(), State::idle);
    EXPECT_EQ(writing.reply.body_bytes_taken(), Bytes{0});
    EXPECT_STEP(Next::later, idle);
    writing.got.clear();
    writing.answer->clear();
    writing.begin(events);
    writing.answer->break_off();
    writing.reply.break_off(trouble);
    EXPECT_EQ(writing.write_all(), Next::broken);
    EXPECT_EQ(writing.got, head_text(events) + as_chunk(event_text()));
}

}  // namespace
}  // namespace turnpike
