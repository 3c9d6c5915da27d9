// The writer of answers writes the same, however much is written at once, and wherever the answer
// breaks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/gate/reply_writer_fixture.h"

namespace turnpike {
namespace {

using Next = ReplyWriter::Next;

struct Case {
    AnswerHead head;
    ReplyOptions options;
    std::string body;
};

std::string chunks_of(std::string_view body) {
    std::string text;
    for (; !body.empty(); body.remove_prefix(std::min(chunk_max, body.size())))
        text += as_chunk(body.substr(0, chunk_max));
    return text + "0\r\n\r\n";
}

std::string expected_of(const Case& one) {
    const bool is_chunked = !one.head.has_length && !one.options.is_http_1_0;
    return head_text(one.head, one.options) + (is_chunked ? chunks_of(one.body) : one.body);
}

std::vector<Case> cases() {
    const std::string longer = numbered(2 * chunk_max + 100);
    return {{plain, {}, ""},
            {plain, {}, "hello"},
            {plain, {}, longer},
            {plain, http_1_0, longer},
            {with_length(5), {}, "hello"},
            {with_length(longer.size()), {}, longer}};
}

TEST(ReplyWriter, WritesTheSameBytesInStepsOfEverySize) {
    for (const Case& one : cases())
        for (const std::size_t step : {1U, 2U, 7U, 1000U, 65535U, 65536U, 65537U, 1000'000U}) {
            Writing writing;
            writing.begin(one.head, one.options);
            writing.append_to_answer(one.body);
            writing.answer->complete();
            EXPECT_EQ(writing.write_all(step), Next::finished);
            ASSERT_TRUE(writing.got == expected_of(one)) << "in steps of " << step;
            EXPECT_EQ(writing.reply.body_bytes_taken(), Bytes{one.body.size()});
        }
}

TEST(ReplyWriter, WritesTheSameBytesInStepsOfAnySizes) {
    for (const Case& one : cases())
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            Random random(seed);
            Writing writing;
            writing.reply.say_continue();
            writing.write(random.below(continue_line.size()));
            writing.begin(one.head, one.options);
            writing.append_to_answer(one.body);
            writing.answer->complete();
            EXPECT_EQ(writing.write_all(random, seed * seed * 300), Next::finished);
            ASSERT_TRUE(writing.got == std::string(continue_line) + expected_of(one)) << seed;
        }
}

TEST(ReplyWriter, WritesTheSameBodyHoweverItComes) {
    const std::string body = numbered(20'000);
    for (const Case& one : {Case{plain, {}, body}, Case{plain, http_1_0, body},
                            Case{with_length(body.size()), {}, body}})
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            Random random(seed);
            Writing writing;
            writing.begin(one.head, one.options);
            for (std::string_view left = body; !left.empty();) {
                const std::size_t size = std::min<std::size_t>(random.below(3000), left.size());
                writing.append_to_answer(left.substr(0, size));
                left.remove_prefix(size);
                for (int i = 0; i < 3 && writing.reply.next() == Next::bytes; ++i)
                    writing.write(random.below(2000));
            }
            writing.answer->complete();
            EXPECT_EQ(writing.write_all(random, 3000), Next::finished);
            ASSERT_EQ(words_of(writing.got),
                      (one.options.is_http_1_0 ? "200 close \"" : "200 keep \"") + body + "\"");
        }
}

TEST(ReplyWriter, BreaksAStreamAtEveryPoint) {
    const std::string body = "data: 1\n\ndata: 2\r\n\r\ndata: 3\n\n";
    for (const ReplyOptions& options : {ReplyOptions{}, http_1_0})
        for (std::size_t came = 0; came <= body.size(); ++came)
            for (const std::size_t step : {1U, 5U, 1000U})
                for (const bool is_worker_done : {false, true}) {
                    Writing writing;
                    writing.begin(events, options);
                    writing.append_to_answer(std::string_view(body).substr(0, came / 2));
                    writing.write_all(step);
                    writing.append_to_answer(
                        std::string_view(body).substr(came / 2, came - came / 2));
                    if (is_worker_done) writing.answer->break_off();
                    writing.reply.break_off(trouble);
                    ASSERT_EQ(writing.write_all(step), Next::broken);
                    const std::string sent = body.substr(0, is_worker_done ? came : came / 2);
                    const std::size_t last_size = is_worker_done ? came - came / 2 : came / 2;
                    const std::string last =
                        last_size == 0 ? sent : sent.substr(sent.size() - last_size);
                    const bool is_between =
                        !options.is_http_1_0 &&
                        (last.empty() || last.ends_with("\n\n") || last.ends_with("\r\n\r\n"));
                    const std::string told = sent + (is_between ? "" : "\n\n") + event_text();
                    ASSERT_EQ(words_of(writing.got),
                              options.is_http_1_0 ? "200 close \"" + told + "\""
                                                  : "200 keep \"" + told + "\" fault truncated");
                }
}

}  // namespace
}  // namespace turnpike
