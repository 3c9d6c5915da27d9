// A ReplyWriter, the answer that it writes, and a client that takes as much at once as the test
// says.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/random.h"
#include "gate/reply_writer.h"
#include "http/write.h"
#include "tests/unit/http/reading.h"
#include "tests/unit/stream/answer_fixture.h"

namespace turnpike {

inline constexpr std::size_t chunk_max = std::size_t{64} * 1024;
inline constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";

inline const OwnReply own_reply{
    .status = 200, .content_type = "text/plain", .body = "hello", .extra_fields = {}};
inline const JobMarks marks{.job = "abc"};
inline const ProblemText trouble{
    .problem = Problem::worker_died, .detail = "It died.", .job = "abc"};
inline const AnswerHead plain{.status = 200};
inline const AnswerHead events{.status = 200, .fields = "Content-Type: text/event-stream\r\n"};
inline const ReplyOptions http_1_0{.keeps_alive = false, .is_http_1_0 = true};

inline AnswerHead with_length(std::uint64_t length) {
    return {.status = 200, .has_length = true, .length = length};
}

inline std::string own_text() {
    std::string text;
    append_own_reply(text, own_reply, {});
    return text;
}

inline std::string head_text(const AnswerHead& head, const ReplyOptions& options = {}) {
    std::string text;
    append_answer_head(text, head, options, marks);
    return text;
}

inline std::string event_text() {
    std::string text;
    append_error_event(text, trouble);
    return text;
}

inline std::string as_chunk(std::string_view data) {
    std::string text;
    http::append_chunk_head(text, data.size());
    return text.append(data).append("\r\n");
}

/// A writer, the answer that it writes, and a client that takes what the test says.
struct Writing : AnswerFixture {
    ReplyWriter reply;
    std::string got;

    Writing() { store.memory_max = store.answer_max = 1024 * 1024; }

    void begin(const AnswerHead& head, const ReplyOptions& options = {}) {
        answer->start(&writer) = head;
        answer->flow();
        reply.begin_answer(*answer, store, options, marks);
    }
    void append_to_answer(std::string_view bytes) { answer->append(store, bytes); }

    /// Writes at most `size` of the bytes that are offered.
    void write(std::size_t size) {
        const ReplyWriter::Pieces pieces = reply.pieces();
        EXPECT_FALSE(pieces.first.empty() && pieces.second.empty());
        const std::string_view first = pieces.first.substr(0, size);
        const std::string_view second = pieces.second.substr(0, size - first.size());
        got.append(first).append(second);
        reply.wrote(first.size() + second.size());
    }
    /// Writes until the writer has no more bytes, at most `step` at once. Returns why it stopped.
    ReplyWriter::Next write_all(std::size_t step = std::size_t{1} << 30) {
        ReplyWriter::Next next = reply.next();
        for (; next == ReplyWriter::Next::bytes; next = reply.next()) write(step);
        return next;
    }
    /// The same, but takes a random number of bytes at once, sometimes none.
    ReplyWriter::Next write_all(Random& random, std::uint64_t step_max) {
        ReplyWriter::Next next = reply.next();
        for (; next == ReplyWriter::Next::bytes; next = reply.next())
            write(random.below(step_max + 1));
        return next;
    }
};

/// Reads what was written, as a client does, and says it in words (tests/unit/http/rows.h).
inline std::string words_of(std::string_view text) {
    http::test::ResponseRead read;
    read.feed(text);
    return read.finish();
}

}  // namespace turnpike
