// The reader of requests: each row of its table, what its owner asks, and its buffer. The tables of
// rows.h test what it finds in a message; reader_splits_test.cpp, that splits do not matter.
#include "http/request_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "http/fields.h"
#include "tests/unit/http/reading.h"
#include "tests/unit/http/rows.h"

namespace turnpike::http::test {
namespace {

using State = RequestReader::State;

constexpr std::size_t usual_size = 4096;
constexpr std::size_t large_size = 65536;

const std::string post_hello = post("Content-Length: 5\r\n", "hello");
const std::string post_without_body = post("Content-Length: 5\r\n", "");

std::string post_of(std::size_t size) {
    return post("Content-Length: " + std::to_string(size) + "\r\n", "");
}

/// A reader that has got these bytes, in as many pieces as it needs, without a step between them.
RequestReader reader_of(std::string_view bytes, const Limits& limits = {}) {
    RequestReader reader(limits);
    EXPECT_EQ(put(reader, bytes), bytes.size());
    return reader;
}

/// The same after its head was found.
RequestReader reader_in_body(std::string_view bytes) {
    RequestReader reader = reader_of(bytes);
    EXPECT_EQ(reader.next(), Found::head);
    return reader;
}

#define EXPECT_STEP(reader, found, then)          \
    do {                                          \
        EXPECT_EQ((reader).next(), Found::found); \
        EXPECT_EQ((reader).state(), State::then); \
    } while (false)

// ── the table ────────────────────────────────────────────────────────────────────────────────────

TEST(RequestReader, AsksForMoreUntilTheHeadIsWhole) {
    RequestReader reader({});
    EXPECT_STEP(reader, more, head);
    EXPECT_FALSE(reader.has_input());
    put(reader, "GET / HTTP/1.1\r\nHost: a\r\n");
    EXPECT_STEP(reader, more, head);
    EXPECT_STEP(reader, more, head);
    EXPECT_TRUE(reader.has_input());
}

TEST(RequestReader, FindsAHead) {
    RequestReader reader = reader_of(get("/path"));
    EXPECT_STEP(reader, head, body);
    EXPECT_EQ(reader.head().target, "/path");
    EXPECT_FALSE(reader.has_input());
}

TEST(RequestReader, BreaksAtBytesThatAreNotHttp) {
    RequestReader reader = reader_of("\x16\x03\x01");
    EXPECT_STEP(reader, broken, broken);
    EXPECT_EQ(reader.fault(), Fault::bad_method);
}

TEST(RequestReader, BreaksAtAHeadThatIsTooLarge) {
    RequestReader reader = reader_of(get("/" + std::string(100, 'a')), {.target_max = 100});
    EXPECT_STEP(reader, broken, broken);
    EXPECT_EQ(reader.fault(), Fault::target_too_long);
}

TEST(RequestReader, FindsThePiecesOfABodyAndWithTheLastByteItsEnd) {
    RequestReader reader = reader_in_body(post_of(5) + "hel");
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

TEST(RequestReader, FindsTheEndOfAChunkedBodyAfterItsTrailers) {
    RequestReader reader = reader_in_body(chunked("5\r\nhello\r\n0\r\nA: b\r\n"));
    EXPECT_STEP(reader, data, body);
    EXPECT_EQ(reader.data(), "hello");
    EXPECT_STEP(reader, more, body);
    put(reader, "\r\n");
    EXPECT_STEP(reader, whole, whole);
}

TEST(RequestReader, FindsTheEndOfARequestWithoutABodyAtOnce) {
    for (const std::string& raw : {get("/"), post_of(0)}) {
        RequestReader reader = reader_in_body(raw);
        EXPECT_STEP(reader, whole, whole);
    }
}

TEST(RequestReader, BreaksAtABodyThatIsNotFramed) {
    RequestReader reader = reader_in_body(chunked("2\r\nabc\r\n"));
    EXPECT_STEP(reader, data, body);
    EXPECT_EQ(reader.data(), "ab");
    EXPECT_STEP(reader, broken, broken);
    EXPECT_EQ(reader.fault(), Fault::bad_chunk);
    EXPECT_EQ(reader.data(), "");
    EXPECT_EQ(reader.head().target, "/") << "the head can still be read";
}

TEST(RequestReader, LeavesWhatFollowsAWholeRequestForTheNext) {
    RequestReader reader = reader_in_body(get("/1") + get("/2"));
    EXPECT_STEP(reader, whole, whole);
    EXPECT_STEP(reader, whole, whole);
    EXPECT_EQ(reader.head().target, "/1");
    EXPECT_TRUE(reader.has_input());
    reader.begin_next();
    EXPECT_EQ(reader.state(), State::head);
    EXPECT_STEP(reader, head, body);
    EXPECT_EQ(reader.head().target, "/2");
}

TEST(RequestReader, StaysBrokenWhateverComes) {
    RequestReader reader = reader_of("\x16");
    EXPECT_STEP(reader, broken, broken);
    put(reader, get("/"));
    EXPECT_STEP(reader, broken, broken);
    EXPECT_EQ(reader.fault(), Fault::bad_method);
}

TEST(RequestReader, DropsAllWhenItIsToldTo) {
    const std::array<std::string_view, 5> begun{"", "GET / HT", post_without_body, post_hello,
                                                "\x16"};
    for (const std::string_view raw : begun) {
        RequestReader reader = reader_of(raw);
        while (reader.next() == Found::head || reader.state() == State::body)
            if (reader.next() == Found::more) break;
        reader.discard_rest();
        EXPECT_EQ(reader.state(), State::discarding);
        EXPECT_FALSE(reader.has_input());
        for (int i = 0; i < 10; ++i) {
            EXPECT_EQ(put(reader, std::string(usual_size, 'x')), usual_size);
            EXPECT_STEP(reader, more, discarding);
            EXPECT_FALSE(reader.has_input());
        }
    }
}

// ── skipping ─────────────────────────────────────────────────────────────────────────────────────

TEST(RequestReader, SkipsABodyThatHasComeAsAWhole) {
    for (const std::string& raw :
         {get("/"), post_hello, chunked("2\r\nab\r\n3\r\ncde\r\n0\r\nA: b\r\n\r\n")}) {
        RequestReader reader = reader_in_body(raw + get("/next"));
        EXPECT_TRUE(reader.skip_body()) << raw;
        EXPECT_EQ(reader.state(), State::whole);
        EXPECT_EQ(reader.data(), "");
        reader.begin_next();
        EXPECT_STEP(reader, head, body);
        EXPECT_EQ(reader.head().target, "/next");
    }
}

TEST(RequestReader, SkipsAWholeRequestToo) {
    RequestReader reader = reader_in_body(post_hello);
    reader.next();
    EXPECT_TRUE(reader.skip_body());
    EXPECT_TRUE(reader.skip_body());
}

TEST(RequestReader, SaysWhetherASkippedBodyIsIncompleteOrBroken) {
    RequestReader partial = reader_in_body(post_without_body + "hel");
    EXPECT_FALSE(partial.skip_body());
    EXPECT_EQ(partial.state(), State::body);
    put(partial, "lo");
    EXPECT_TRUE(partial.skip_body());
    RequestReader broken = reader_in_body(chunked("x"));
    EXPECT_FALSE(broken.skip_body());
    EXPECT_EQ(broken.state(), State::broken);
    RequestReader head({});
    EXPECT_FALSE(head.skip_body());
    EXPECT_EQ(head.state(), State::head);
}

// ── what its owner asks ──────────────────────────────────────────────────────────────────────────

TEST(RequestReader, KnowsIfTheWholeRequestIsHere) {
    EXPECT_FALSE(reader_of(get("/")).has_whole_request()) << "nobody has looked yet";
    EXPECT_TRUE(reader_in_body(get("/")).has_whole_request());
    EXPECT_TRUE(reader_in_body(post_hello).has_whole_request());
    EXPECT_TRUE(reader_in_body(post_hello + get("/")).has_whole_request());
    RequestReader partial = reader_in_body(post_without_body + "hell");
    EXPECT_FALSE(partial.has_whole_request());
    partial.next();
    EXPECT_FALSE(partial.has_whole_request());
    put(partial, "o");
    EXPECT_TRUE(partial.has_whole_request());
    partial.next();
    EXPECT_TRUE(partial.has_whole_request());
}

TEST(RequestReader, KnowsTheEndOfAChunkedBodyOnlyOnceItWasTaken) {
    RequestReader reader = reader_in_body(chunked("1\r\na\r\n0\r\n\r\n"));
    EXPECT_FALSE(reader.has_whole_request());
    EXPECT_EQ(reader.next(), Found::data);
    EXPECT_FALSE(reader.has_whole_request());
    EXPECT_EQ(reader.next(), Found::whole);
    EXPECT_TRUE(reader.has_whole_request());
}

TEST(RequestReader, HasNoWholeRequestAfterABreach) {
    RequestReader reader = reader_in_body(chunked("x"));
    reader.next();
    EXPECT_FALSE(reader.has_whole_request());
    reader.discard_rest();
    EXPECT_FALSE(reader.has_whole_request());
}

TEST(RequestReader, CountsTheBytesOfABodyWithItsFraming) {
    RequestReader reader = reader_in_body(chunked("2\r\nab\r\n3"));
    EXPECT_EQ(reader.body_bytes_taken(), 0U);
    reader.next();
    EXPECT_EQ(reader.body_bytes_taken(), 5U);
    reader.next();
    EXPECT_EQ(reader.body_bytes_taken(), 8U);
    put(reader, "\r\ncde\r\n0\r\n\r\n" + post_hello);
    EXPECT_TRUE(reader.skip_body());
    EXPECT_EQ(reader.body_bytes_taken(), 20U);
    reader.begin_next();
    EXPECT_EQ(reader.next(), Found::head);
    EXPECT_EQ(reader.body_bytes_taken(), 0U);
    EXPECT_EQ(reader.next(), Found::data);
    EXPECT_EQ(reader.body_bytes_taken(), 5U);
}

TEST(RequestReader, KeepsTheHeadReadableUntilTheNextRead) {
    RequestReader reader = reader_in_body(post_hello + get("/next"));
    const RequestHead& head = reader.head();
    const char* const target = head.target.data();
    EXPECT_EQ(reader.next(), Found::data);
    const std::string_view data = reader.data();
    EXPECT_EQ(reader.state(), State::whole);
    EXPECT_EQ(head.target.data(), target);
    EXPECT_EQ(head.host, "a");
    EXPECT_EQ(data, "hello");
    EXPECT_EQ(find(head.fields, "content-length")->value, "5");
}

// ── the buffer ───────────────────────────────────────────────────────────────────────────────────

TEST(RequestReader, HasNoRoomForMoreThanItsBufferBehindAWholeRequest) {
    RequestReader reader = reader_in_body(get("/1"));
    EXPECT_EQ(reader.next(), Found::whole);
    std::string pipelined;
    while (pipelined.size() < 2 * usual_size) pipelined += get("/2");
    EXPECT_EQ(put(reader, pipelined), usual_size);
    EXPECT_TRUE(reader.room().empty());
    EXPECT_STEP(reader, whole, whole);
    EXPECT_TRUE(reader.room().empty()) << "it does not grow";
    reader.begin_next();
    EXPECT_STEP(reader, head, body);
    EXPECT_FALSE(reader.room().empty());
}

TEST(RequestReader, HasNoRoomForAnUnwantedBodyBeyondItsBuffer) {
    RequestReader reader = reader_in_body(post_of(100'000));
    EXPECT_EQ(put(reader, std::string(large_size, 'x')), usual_size);
    EXPECT_TRUE(reader.room().empty());
    EXPECT_FALSE(reader.skip_body());
    EXPECT_EQ(reader.room().size(), usual_size) << "a body that is skipped is not awaited";
}

TEST(RequestReader, HasNoRoomBehindABreach) {
    RequestReader reader = reader_of("\x16");
    EXPECT_EQ(reader.next(), Found::broken);
    while (put(reader, std::string(1000, 'x')) > 0) {
    }
    EXPECT_TRUE(reader.room().empty());
}

TEST(RequestReader, GrowsForALongHeadUpToTheLimitOfTheParser) {
    const std::string long_head = with_field("A: " + std::string(60'000, 'a'));
    RequestsRead requests;
    requests.feed(long_head);
    EXPECT_EQ(requests.told(), "GET / keep");
    EXPECT_EQ(requests.reader().room().size(), usual_size) << "it shrinks again";

    RequestReader endless({});
    std::size_t came = put(endless, "GET / HTTP/1.1\r\nA: ");
    Found found = endless.next();
    while (found == Found::more) {
        came += put(endless, std::string(100'000, 'a'));
        ASSERT_LE(came, Limits{}.head_max);
        found = endless.next();
    }
    EXPECT_EQ(found, Found::broken);
    EXPECT_EQ(endless.fault(), Fault::head_too_large);
    EXPECT_EQ(came, Limits{}.head_max);
}

TEST(RequestReader, DoesNotGrowBeyondTheLimitEvenIfNobodyTakesAStep) {
    RequestReader reader({});
    std::size_t came = 0;
    while (const std::size_t size = put(reader, std::string(100'000, 'A'))) came += size;
    EXPECT_EQ(came, Limits{}.head_max);
}

TEST(RequestReader, TakesALargeBufferForABodyThatIsDeclaredLong) {
    RequestReader reader = reader_in_body(post_of(usual_size + 1));
    EXPECT_EQ(reader.room().size(), usual_size) << "nobody wants the body yet";
    EXPECT_EQ(reader.next(), Found::more);
    EXPECT_EQ(reader.room().size(), large_size);
    put(reader, std::string(usual_size + 1, 'x'));
    EXPECT_EQ(reader.next(), Found::data);
    EXPECT_EQ(reader.state(), State::whole);
    EXPECT_EQ(reader.room().size(), usual_size) << "while the job waits";
    reader.begin_next();
    EXPECT_EQ(reader.room().size(), usual_size) << "while the connection idles";
}

TEST(RequestReader, TakesALargeBufferForAChunkedBodyThatTurnsOutLong) {
    RequestReader reader = reader_in_body(chunked(""));
    EXPECT_EQ(reader.next(), Found::more);
    const std::string chunk = "f\r\n" + std::string(15, 'x') + "\r\n";
    for (std::size_t taken = chunk.size(); taken <= usual_size; taken += chunk.size()) {
        ASSERT_EQ(reader.room().size(), usual_size) << taken;
        put(reader, chunk);
        while (reader.next() == Found::data) {
        }
    }
    put(reader, chunk);
    while (reader.next() == Found::data) {
    }
    EXPECT_EQ(reader.room().size(), large_size);
}

TEST(RequestReader, KeepsTheUsualBufferForAShortBody) {
    RequestReader reader = reader_in_body(post_of(usual_size));
    EXPECT_EQ(reader.next(), Found::more);
    EXPECT_EQ(reader.room().size(), usual_size);
}

TEST(RequestReader, KeepsItsMemoryFromOneUsualRequestToTheNext) {
    RequestReader reader({});
    const char* const memory = reader.room().data();
    for (int i = 0; i < 1000; ++i) {
        put(reader, post_hello);
        ASSERT_EQ(reader.next(), Found::head);
        ASSERT_EQ(reader.next(), Found::data);
        ASSERT_EQ(reader.room().data(), memory);
        reader.begin_next();
    }
}

}  // namespace
}  // namespace turnpike::http::test
