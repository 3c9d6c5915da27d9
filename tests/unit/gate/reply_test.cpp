#include "gate/reply.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/response_parser.h"

namespace turnpike {
namespace {

using http::Framing;
using http::Method;

/// A response of ours as a client reads it.
class Heard {
public:
    explicit Heard(std::string text, Method asked = Method::get) : text_(std::move(text)) {
        EXPECT_EQ(parser_.parse(text_, asked), http::Progress::done)
            << text_ << http::sentence_of(parser_.fault());
    }
    Heard(const Heard&) = delete;
    Heard& operator=(const Heard&) = delete;

    [[nodiscard]] const http::ResponseHead& head() const { return parser_.head(); }
    [[nodiscard]] std::string_view body() const {
        return std::string_view(text_).substr(parser_.size());
    }
    /// "-": none, or more than one.
    [[nodiscard]] std::string_view field(std::string_view name) const {
        return http::only(head().fields, name).value_or("-");
    }

private:
    std::string text_;
    http::ResponseParser parser_{http::Limits{}};
};

struct Replied {
    std::string text;
    ReplyFraming framing;
};

const JobMarks ran{
    .job = "abc", .lane = 2, .attempts = 3, .generation = 4, .queue = 1500us, .run = 2s};

Replied answer(const AnswerHead& head, const ReplyOptions& options = {}) {
    Replied replied{};
    replied.framing = append_answer_head(replied.text, head, options, ran);
    return replied;
}

TEST(Reply, PassesAnAnswerOnWithItsMarks) {
    const Replied replied =
        answer({.status = 201, .fields = "X-A: b\r\n", .has_length = true, .length = 7});
    EXPECT_EQ(replied.framing, ReplyFraming::length);
    const Heard heard(replied.text);
    EXPECT_EQ(heard.head().status, 201);
    EXPECT_EQ(heard.head().framing, Framing::length);
    EXPECT_EQ(heard.head().length, 7U);
    EXPECT_TRUE(heard.head().keep_alive);
    EXPECT_EQ(heard.field("x-a"), "b");
    EXPECT_EQ(heard.field("turnpike-job"), "abc");
    EXPECT_EQ(heard.field("turnpike-lane"), "2");
    EXPECT_EQ(heard.field("turnpike-attempt"), "3");
    EXPECT_EQ(heard.field("turnpike-generation"), "4");
    EXPECT_EQ(heard.field("server-timing"), "queue;dur=1.500, run;dur=2000.000");
    EXPECT_EQ(heard.body(), "");
}

TEST(Reply, SendsAnAnswerOfUnknownLengthInChunks) {
    const Replied replied = answer({.status = 200});
    EXPECT_EQ(replied.framing, ReplyFraming::chunked);
    EXPECT_EQ(Heard(replied.text).head().framing, Framing::chunked);
}

TEST(Reply, SendsNoChunksToAnOldClient) {
    const Replied replied = answer({.status = 200}, {.keeps_alive = false, .is_http_1_0 = true});
    EXPECT_EQ(replied.framing, ReplyFraming::until_close);
    const Heard heard(replied.text);
    EXPECT_EQ(heard.head().framing, Framing::until_close);
    EXPECT_EQ(heard.field("connection"), "close");
}

TEST(Reply, TellsAnOldClientThatItMayStay) {
    const ReplyOptions options{.keeps_alive = true, .is_http_1_0 = true};
    const Replied replied = answer({.status = 200, .has_length = true, .length = 1}, options);
    EXPECT_EQ(Heard(replied.text).field("connection"), "keep-alive");
}

TEST(Reply, HasNoBodyWhereThereIsNone) {
    const AnswerHead head{.status = 200,
                          .fields = "Content-Length: 500\r\n",
                          .has_length = true,
                          .length = 0,
                          .has_body = false};
    const Replied replied = answer(head, {.is_head = true});
    EXPECT_EQ(replied.framing, ReplyFraming::none);
    const Heard heard(replied.text, Method::head);
    EXPECT_EQ(heard.head().framing, Framing::none);
    EXPECT_EQ(heard.field("content-length"), "500") << "what GET would have had";
}

TEST(Reply, ClosesWhenItMust) {
    EXPECT_FALSE(Heard(answer({.status = 200}, {.keeps_alive = false}).text).head().keep_alive);
}

TEST(Reply, LetsAnAllowedPageRead) {
    const Heard heard(answer({.status = 200}, {.allowed_origin = "https://ui.example"}).text);
    EXPECT_EQ(heard.field("access-control-allow-origin"), "https://ui.example");
    EXPECT_EQ(heard.field("vary"), "Origin");
    EXPECT_TRUE(heard.field("access-control-expose-headers").contains("Turnpike-Job"));
    EXPECT_EQ(Heard(answer({.status = 200}).text).field("access-control-allow-origin"), "-");
}

TEST(Reply, OfOurOwnIsWhole) {
    std::string out;
    append_own_reply(out, {.status = 200, .content_type = "text/plain", .body = "ok\n"},
                     {.date = "Sun, 06 Nov 1994 08:49:37 GMT"});
    const Heard heard(out);
    EXPECT_EQ(heard.body(), "ok\n");
    EXPECT_EQ(heard.head().length, 3U);
    EXPECT_EQ(heard.field("content-type"), "text/plain");
    EXPECT_EQ(heard.field("cache-control"), "no-store");
    EXPECT_EQ(heard.field("date"), "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(Reply, OfOurOwnToHeadTellsTheLengthOnly) {
    std::string out;
    append_own_reply(out, {.status = 200, .content_type = "text/plain", .body = "ok\n"},
                     {.is_head = true});
    const Heard heard(out, Method::head);
    EXPECT_EQ(heard.field("content-length"), "3");
    EXPECT_EQ(heard.body(), "");
}

std::string problem(const ProblemReply& reply, const ReplyOptions& options = {}) {
    std::string out;
    append_problem_reply(out, reply, options);
    return out;
}

TEST(Reply, OfEveryProblemParsesBack) {
    for (int i = 0; i <= static_cast<int>(Problem::cancelled); ++i) {
        const auto which = static_cast<Problem>(i);
        const Heard heard(problem({.text = {.problem = which, .detail = "why"}}));
        EXPECT_EQ(heard.head().status, status_of(which));
        EXPECT_EQ(heard.field("content-type"), "application/problem+json");
        EXPECT_EQ(heard.head().length, heard.body().size());
        EXPECT_EQ(heard.field("www-authenticate"), status_of(which) == 401 ? "Bearer" : "-");
        const bool is_final = status_of(which) == 502 || status_of(which) == 504;
        EXPECT_EQ(heard.field("x-should-retry"), is_final ? "false" : "-");
        EXPECT_EQ(heard.field("retry-after"), "-");
        EXPECT_EQ(heard.field("turnpike-job"), "-");
    }
}

TEST(Reply, TellsWhenToComeBackInWholeSecondsAndNotAtOnce) {
    const ProblemText text{.problem = Problem::queue_full};
    EXPECT_EQ(Heard(problem({.text = text, .retry_after = 1ms})).field("retry-after"), "1");
    EXPECT_EQ(Heard(problem({.text = text, .retry_after = 1s})).field("retry-after"), "1");
    EXPECT_EQ(Heard(problem({.text = text, .retry_after = 1001ms})).field("retry-after"), "2");
    EXPECT_EQ(Heard(problem({.text = text, .retry_after = 10min})).field("retry-after"), "600");
}

TEST(Reply, TellsTheMarksOfAJobThatHadAProblem) {
    const JobMarks waited{.job = "abc", .queue = 3ms};
    const Heard heard(
        problem({.text = {.problem = Problem::waited_too_long, .job = "abc"}, .marks = &waited}));
    EXPECT_EQ(heard.field("turnpike-job"), "abc");
    EXPECT_EQ(heard.field("turnpike-lane"), "-") << "it never ran";
    EXPECT_EQ(heard.field("server-timing"), "queue;dur=3.000");
}

TEST(Reply, TellsTheAllowedMethods) {
    const ProblemText text{.problem = Problem::method_not_allowed};
    EXPECT_EQ(Heard(problem({.text = text, .allow = "GET, HEAD"})).field("allow"), "GET, HEAD");
}

TEST(Reply, ToAPreflightHasNoBody) {
    std::string out;
    append_preflight_reply(out, "POST", "content-type, x-y",
                           {.allowed_origin = "https://ui.example"});
    const Heard heard(out, Method::options);
    EXPECT_EQ(heard.head().status, 204);
    EXPECT_EQ(heard.body(), "");
    EXPECT_EQ(heard.field("content-length"), "-");
    EXPECT_EQ(heard.field("content-type"), "-");
    EXPECT_EQ(heard.field("access-control-allow-methods"), "POST");
    EXPECT_EQ(heard.field("access-control-allow-headers"), "content-type, x-y");
    EXPECT_EQ(heard.field("access-control-allow-origin"), "https://ui.example");
}

TEST(Reply, ToAPreflightWithoutFieldsAllowsNone) {
    std::string out;
    append_preflight_reply(out, "GET", "", {.allowed_origin = "https://ui.example"});
    EXPECT_EQ(Heard(out, Method::options).field("access-control-allow-headers"), "-");
}

}  // namespace
}  // namespace turnpike
