// The reader of answers: each row of its table, what its owner asks, and its buffer. The tables of
// rows.h test what it finds in a message; reader_splits_test.cpp, that splits do not matter.
#include "http/response_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "tests/unit/http/reading.h"
#include "tests/unit/http/rows.h"

namespace turnpike::http::test {
namespace {

using State = ResponseReader::State;
using End = ResponseReader::End;

constexpr std::size_t usual_size = 16 * 1024;
constexpr std::size_t large_size = 64 * 1024;

const std::string empty_answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const std::string hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const std::string begun = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
const std::string chunked_hello =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n";
const std::string endless_hello = "HTTP/1.1 200 OK\r\n\r\nhello";
const std::string interim = "HTTP/1.1 102 Processing\r\n\r\n";

std::string repeated(std::string_view text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

/// A reader that waits for an answer and has got these bytes, without a step.
ResponseReader reader_of(std::string_view bytes, Method asked = Method::get) {
    ResponseReader reader({});
    reader.begin(asked);
    EXPECT_EQ(put(reader, bytes), bytes.size());
    return reader;
}

/// The same after its head was found.
ResponseReader reader_in_body(std::string_view bytes, Method asked = Method::get) {
    ResponseReader reader = reader_of(bytes, asked);
    EXPECT_EQ(reader.next(), Found::head);
    return reader;
}

/// The same after its end was found.
ResponseReader reader_of_whole(std::string_view bytes, Method asked = Method::get) {
    ResponseReader reader = reader_in_body(bytes, asked);
    while (reader.next() == Found::data) {
    }
    EXPECT_EQ(reader.state(), State::whole) << bytes;
    return reader;
}

#define EXPECT_STEP(reader, found, then)          \
    do {                                          \
        EXPECT_EQ((reader).next(), Found::found); \
        EXPECT_EQ((reader).state(), State::then); \
    } while (false)

// ── the table ────────────────────────────────────────────────────────────────────────────────────

TEST(ResponseReader, FindsNothingWhileItIsIdle) {
    ResponseReader reader({});
    EXPECT_STEP(reader, more, idle);
    put(reader, hello);
    EXPECT_STEP(reader, more, idle);
    EXPECT_FALSE(reader.is_reusable());
}

TEST(ResponseReader, AsksForMoreUntilTheHeadIsWhole) {
    ResponseReader reader = reader_of("");
    EXPECT_STEP(reader, more, head);
    EXPECT_FALSE(reader.has_begun());
    put(reader, "HTTP/1.1 200 OK\r\n");
    EXPECT_TRUE(reader.has_begun());
    EXPECT_STEP(reader, more, head);
}

TEST(ResponseReader, FindsTheHeadBehindInterimAnswers) {
    ResponseReader reader = reader_of(repeated(interim, 16));
    EXPECT_STEP(reader, more, head);
    EXPECT_TRUE(reader.has_begun());
    put(reader, empty_answer);
    EXPECT_STEP(reader, head, body);
    EXPECT_EQ(reader.head().status, 200);
}

TEST(ResponseReader, BreaksAtInterimAnswersWithoutEnd) {
    ResponseReader reader = reader_of(repeated(interim, 17));
    EXPECT_STEP(reader, broken, broken);
    EXPECT_EQ(reader.fault(), Fault::too_many_interims);
}

TEST(ResponseReader, CountsTheInterimAnswersOfEachAnswerAnew) {
    ResponseReader reader = reader_of(repeated(interim, 16) + empty_answer);
    EXPECT_STEP(reader, head, body);
    reader.begin(Method::get);
    put(reader, repeated(interim, 16) + empty_answer);
    EXPECT_STEP(reader, head, body);
}

TEST(ResponseReader, BreaksAtBytesThatAreNotHttp) {
    ResponseReader reader = reader_of("Traceback (most recent call last)");
    EXPECT_STEP(reader, broken, broken);
    EXPECT_EQ(reader.fault(), Fault::bad_status_line);
}

TEST(ResponseReader, BreaksAtAnUpgradeThatNobodyAskedFor) {
    ResponseReader reader = reader_of("HTTP/1.1 101 Switching Protocols\r\n\r\n");
    EXPECT_STEP(reader, broken, broken);
    EXPECT_EQ(reader.fault(), Fault::unasked_upgrade);
}

TEST(ResponseReader, BreaksIfTheInputEndsBeforeTheHead) {
    for (const std::string_view raw : {"", "HTTP/1.1 2", "HTTP/1.1 100 Continue\r\n\r\n"})
        for (const End how : {End::clean, End::broken}) {
            ResponseReader reader = reader_of(raw);
            EXPECT_STEP(reader, more, head);
            reader.input_ended(how);
            EXPECT_STEP(reader, broken, broken);
            EXPECT_EQ(reader.fault(), Fault::truncated);
            EXPECT_EQ(reader.has_begun(), !raw.empty());
        }
}

TEST(ResponseReader, FindsThePiecesOfABodyAndWithTheLastByteItsEnd) {
    ResponseReader reader = reader_in_body(begun + "hel");
    EXPECT_STEP(reader, data, body);
    EXPECT_EQ(reader.data(), "hel");
    EXPECT_STEP(reader, more, body);
    EXPECT_EQ(reader.data(), "");
    put(reader, "lo");
    EXPECT_STEP(reader, data, whole);
    EXPECT_EQ(reader.data(), "lo");
    EXPECT_STEP(reader, whole, whole);
    EXPECT_EQ(reader.data(), "");
}

TEST(ResponseReader, FindsTheEndOfAChunkedBodyAfterItsTrailers) {
    ResponseReader reader = reader_in_body(chunked_hello);
    EXPECT_STEP(reader, data, body);
    EXPECT_EQ(reader.data(), "hello");
    EXPECT_STEP(reader, whole, whole);
}

TEST(ResponseReader, FindsTheEndOfAnAnswerWithoutABodyAtOnce) {
    const std::string with_length = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    const std::string chunked_head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string& raw : {with_length, chunked_head, "HTTP/1.1 200 OK\r\n\r\n"s}) {
        ResponseReader reader = reader_in_body(raw, Method::head);
        EXPECT_STEP(reader, whole, whole);
    }
    for (const std::string& raw : {empty_answer, "HTTP/1.1 204 No Content\r\n\r\n"s,
                                   "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n"s}) {
        ResponseReader reader = reader_in_body(raw);
        EXPECT_STEP(reader, whole, whole);
    }
}

TEST(ResponseReader, BreaksAtABodyThatIsNotFramed) {
    ResponseReader reader =
        reader_in_body("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n");
    EXPECT_STEP(reader, data, body);
    EXPECT_STEP(reader, broken, broken);
    EXPECT_EQ(reader.fault(), Fault::bad_chunk);
    EXPECT_EQ(reader.data(), "");
}

TEST(ResponseReader, EndsABodyWithItsConnectionIfThatEndedCleanly) {
    ResponseReader reader = reader_in_body(endless_hello);
    EXPECT_STEP(reader, data, body);
    EXPECT_STEP(reader, more, body);
    reader.input_ended(End::clean);
    EXPECT_STEP(reader, whole, whole);
    EXPECT_FALSE(reader.is_reusable());
    ResponseReader failed = reader_in_body(endless_hello);
    EXPECT_STEP(failed, data, body);
    failed.input_ended(End::broken);
    EXPECT_STEP(failed, broken, broken);
    EXPECT_EQ(failed.fault(), Fault::truncated);
}

TEST(ResponseReader, BreaksIfTheInputEndsWithinAFramedBody) {
    for (const std::size_t missing : {1U, 5U})
        for (const std::string& raw : {hello, chunked_hello})
            for (const End how : {End::clean, End::broken}) {
                ResponseReader reader =
                    reader_in_body(std::string_view(raw).substr(0, raw.size() - missing));
                reader.input_ended(how);
                while (reader.next() == Found::data) {
                }
                EXPECT_STEP(reader, broken, broken);
                EXPECT_EQ(reader.fault(), Fault::truncated);
            }
}

TEST(ResponseReader, FindsWhatCameBeforeTheInputEnded) {
    ResponseReader reader = reader_of(interim + endless_hello);
    reader.input_ended(End::clean);
    EXPECT_STEP(reader, head, body);
    EXPECT_STEP(reader, data, body);
    EXPECT_EQ(reader.data(), "hello");
    EXPECT_STEP(reader, whole, whole);
    ResponseReader framed = reader_of(chunked_hello);
    framed.input_ended(End::broken);
    EXPECT_STEP(framed, head, body);
    EXPECT_STEP(framed, data, body);
    EXPECT_STEP(framed, whole, whole);
    EXPECT_FALSE(framed.is_reusable()) << "the connection is gone";
}

TEST(ResponseReader, StaysBrokenWhateverComes) {
    ResponseReader reader = reader_of("x");
    EXPECT_STEP(reader, broken, broken);
    put(reader, hello);
    EXPECT_STEP(reader, broken, broken);
    reader.input_ended(End::clean);
    EXPECT_STEP(reader, broken, broken);
    EXPECT_EQ(reader.fault(), Fault::bad_status_line);
    EXPECT_FALSE(reader.is_reusable());
}

TEST(ResponseReader, LeavesWhatFollowsAWholeAnswer) {
    ResponseReader reader = reader_of_whole(hello + hello);
    EXPECT_STEP(reader, whole, whole);
    reader.input_ended(End::clean);
    EXPECT_STEP(reader, whole, whole);
}

TEST(ResponseReader, BeginsFromAnyState) {
    std::array<ResponseReader, 6> readers{
        ResponseReader({}),
        reader_of("HTTP/1.1"),
        reader_in_body(begun + "he"),
        reader_of_whole(hello + "more"),
        reader_of("x"),
        reader_of(repeated(interim, 9)),
    };
    for (ResponseReader& reader : readers) {
        reader.next();
        reader.input_ended(End::broken);
        reader.begin(Method::get);
        EXPECT_FALSE(reader.has_begun());
        EXPECT_STEP(reader, more, head);
        put(reader, hello);
        EXPECT_STEP(reader, head, body);
        EXPECT_STEP(reader, data, whole);
        EXPECT_EQ(reader.data(), "hello");
        EXPECT_TRUE(reader.is_reusable());
    }
}

// ── reuse ────────────────────────────────────────────────────────────────────────────────────────

TEST(ResponseReader, AllowsAnotherRequestAfterAnAnswerThatEndedCleanly) {
    EXPECT_TRUE(reader_of_whole(hello).is_reusable());
    EXPECT_TRUE(reader_of_whole(chunked_hello).is_reusable());
    EXPECT_TRUE(reader_of_whole(interim + empty_answer).is_reusable());
    EXPECT_TRUE(reader_of_whole(begun, Method::head).is_reusable());
    EXPECT_TRUE(
        reader_of_whole("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n")
            .is_reusable());
}

TEST(ResponseReader, AllowsNoOtherRequestIfTheWorkerCloses) {
    EXPECT_FALSE(
        reader_of_whole("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            .is_reusable());
    EXPECT_FALSE(reader_of_whole("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").is_reusable());
    ResponseReader reader = reader_of_whole(hello);
    reader.input_ended(End::clean);
    EXPECT_FALSE(reader.is_reusable());
}

TEST(ResponseReader, AllowsNoOtherRequestIfMoreHasComeThanWasAskedFor) {
    EXPECT_FALSE(reader_of_whole(hello + hello).is_reusable());
    EXPECT_FALSE(reader_of_whole(begun + "hello", Method::head).is_reusable());
    ResponseReader reader = reader_of_whole(hello);
    put(reader, "\r\n");
    EXPECT_FALSE(reader.is_reusable());
}

TEST(ResponseReader, AllowsNoOtherRequestBeforeTheEnd) {
    EXPECT_FALSE(reader_of("").is_reusable());
    EXPECT_FALSE(reader_in_body(begun).is_reusable());
    ResponseReader reader = reader_of_whole(hello);
    reader.clear();
    EXPECT_FALSE(reader.is_reusable());
}

// ── the buffer ───────────────────────────────────────────────────────────────────────────────────

TEST(ResponseReader, GrowsForALongHeadUpToTheLimitOfTheParser) {
    ResponseRead answer;
    answer.feed("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: " + std::string(60'000, 'a') +
                "\r\n\r\n");
    EXPECT_EQ(answer.told(), "200 keep \"\"");

    ResponseReader endless = reader_of("HTTP/1.1 200 OK\r\nA: ");
    std::size_t came = 20;
    Found found = endless.next();
    while (found == Found::more) {
        came += put(endless, std::string(100'000, 'a'));
        ASSERT_LE(came, Limits{}.head_max);
        found = endless.next();
    }
    EXPECT_EQ(found, Found::broken);
    EXPECT_EQ(endless.fault(), Fault::head_too_large);
}

TEST(ResponseReader, DoesNotGrowForInterimAnswers) {
    ResponseRead answer;
    const std::string long_interim =
        "HTTP/1.1 103 Early Hints\r\nLink: " + std::string(15'000, 'a') + "\r\n\r\n";
    for (int i = 0; i < 16; ++i) {
        answer.feed(long_interim);
        ASSERT_EQ(answer.reader().room().size(), usual_size);
    }
    answer.feed(hello);
    EXPECT_EQ(answer.finish(), "200 keep \"hello\"");
}

TEST(ResponseReader, TakesALargeBufferOnceAReadHasFilledTheUsualOne) {
    ResponseReader reader = reader_in_body("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    EXPECT_EQ(reader.next(), Found::more);
    put(reader, std::string(usual_size - 1, 'x'));
    EXPECT_EQ(reader.next(), Found::data);
    EXPECT_EQ(reader.room().size(), usual_size);
    put(reader, std::string(usual_size, 'x'));
    EXPECT_EQ(reader.next(), Found::data);
    EXPECT_EQ(reader.room().size(), large_size);
    put(reader, "x");
    EXPECT_EQ(reader.next(), Found::data);
    EXPECT_EQ(reader.room().size(), large_size) << "for the rest of this body";
    put(reader, std::string(large_size, 'x'));
    EXPECT_EQ(reader.next(), Found::data);
    EXPECT_EQ(reader.room().size(), large_size) << "it does not grow further";
    reader.begin(Method::get);
    EXPECT_EQ(reader.room().size(), usual_size) << "the next answer begins anew";
}

TEST(ResponseReader, HasNoRoomForBytesThatAreNotTaken) {
    ResponseReader reader = reader_in_body(begun);
    EXPECT_EQ(put(reader, std::string(large_size, 'x')), usual_size);
    EXPECT_TRUE(reader.room().empty());
}

TEST(ResponseReader, KeepsItsMemoryFromOneUsualAnswerToTheNext) {
    ResponseReader reader = reader_of("");
    const char* const memory = reader.room().data();
    for (int i = 0; i < 1000; ++i) {
        put(reader, hello);
        ASSERT_EQ(reader.next(), Found::head);
        ASSERT_EQ(reader.next(), Found::data);
        reader.clear();
        reader.begin(Method::get);
        ASSERT_EQ(reader.room().data(), memory);
    }
}

TEST(ResponseReader, KeepsTheHeadReadableUntilTheNextRead) {
    ResponseReader reader = reader_in_body(interim + hello);
    const Fields fields = reader.head().fields;
    EXPECT_EQ(reader.next(), Found::data);
    EXPECT_EQ(reader.next(), Found::whole);
    EXPECT_EQ(fields[0].name, "Content-Length");
    EXPECT_EQ(fields[0].value, "5");
}

}  // namespace
}  // namespace turnpike::http::test
