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

/// Parses a response of ours as a client does.
class ParsedResponse {
public:
    explicit ParsedResponse(std::string text, Method asked = Method::get) : text_(std::move(text)) {
        EXPECT_EQ(parser_.parse(text_, asked), http::Progress::done)
            << text_ << http::sentence_of(parser_.fault());
    }
    ParsedResponse(const ParsedResponse&) = delete;
    ParsedResponse& operator=(const ParsedResponse&) = delete;

    [[nodiscard]] const http::ResponseHead& head() const { return parser_.head(); }
    [[nodiscard]] std::string_view body() const {
        return std::string_view(text_).substr(parser_.size());
    }
    /// Returns "-" if there is no such field, or more than one.
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
    const ParsedResponse response(replied.text);
    EXPECT_EQ(response.head().status, 201);
    EXPECT_EQ(response.head().framing, Framing::length);
    EXPECT_EQ(response.head().length, 7U);
    EXPECT_TRUE(response.head().keep_alive);
    EXPECT_EQ(response.field("x-a"), "b");
    EXPECT_EQ(response.field("turnpike-job"), "abc");
    EXPECT_EQ(response.field("turnpike-lane"), "2");
    EXPECT_EQ(response.field("turnpike-attempt"), "3");
    EXPECT_EQ(response.field("turnpike-generation"), "4");
    EXPECT_EQ(response.field("server-timing"), "queue;dur=1.500, run;dur=2000.000");
    EXPECT_EQ(response.body(), "");
}

TEST(Reply, SendsAnAnswerOfUnknownLengthInChunks) {
    const Replied replied = answer({.status = 200});
    EXPECT_EQ(replied.framing, ReplyFraming::chunked);
    EXPECT_EQ(ParsedResponse(replied.text).head().framing, Framing::chunked);
}

TEST(Reply, SendsNoChunksToAnOldClient) {
    const Replied replied = answer({.status = 200}, {.keeps_alive = false, .is_http_1_0 = true});
    EXPECT_EQ(replied.framing, ReplyFraming::until_close);
    const ParsedResponse response(replied.text);
    EXPECT_EQ(response.head().framing, Framing::until_close);
    EXPECT_EQ(response.field("connection"), "close");
}

TEST(Reply, TellsAnHttp10ClientThatTheConnectionStaysOpen) {
    const ReplyOptions options{.keeps_alive = true, .is_http_1_0 = true};
    const Replied replied = answer({.status = 200, .has_length = true, .length = 1}, options);
    EXPECT_EQ(ParsedResponse(replied.text).field("connection"), "keep-alive");
}

TEST(Reply, HasNoBodyIfTheAnswerHasNone) {
    const AnswerHead head{.status = 200,
                          .fields = "Content-Length: 500\r\n",
                          .has_length = true,
                          .length = 0,
                          .has_body = false};
    const Replied replied = answer(head, {.is_head = true});
    EXPECT_EQ(replied.framing, ReplyFraming::none);
    const ParsedResponse response(replied.text, Method::head);
    EXPECT_EQ(response.head().framing, Framing::none);
    EXPECT_EQ(response.field("content-length"), "500") << "what GET would have had";
}

TEST(Reply, ClosesWhenItMust) {
    EXPECT_FALSE(
        ParsedResponse(answer({.status = 200}, {.keeps_alive = false}).text).head().keep_alive);
}

TEST(Reply, LetsAnAllowedPageRead) {
    const ParsedResponse response(
        answer({.status = 200}, {.allowed_origin = "https://ui.example"}).text);
    EXPECT_EQ(response.field("access-control-allow-origin"), "https://ui.example");
    EXPECT_EQ(response.field("vary"), "Origin");
    EXPECT_TRUE(response.field("access-control-expose-headers").contains("Turnpike-Job"));
    EXPECT_EQ(ParsedResponse(answer({.status = 200}).text).field("access-control-allow-origin"),
              "-");
}

TEST(Reply, OfOurOwnIsWhole) {
    std::string out;
    append_own_reply(out, {.status = 200, .content_type = "text/plain", .body = "ok\n"},
                     {.date = "Sun, 06 Nov 1994 08:49:37 GMT"});
    const ParsedResponse response(out);
    EXPECT_EQ(response.body(), "ok\n");
    EXPECT_EQ(response.head().length, 3U);
    EXPECT_EQ(response.field("content-type"), "text/plain");
    EXPECT_EQ(response.field("cache-control"), "no-store");
    EXPECT_EQ(response.field("date"), "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(Reply, OfOurOwnToHeadTellsTheLengthOnly) {
    std::string out;
    append_own_reply(out, {.status = 200, .content_type = "text/plain", .body = "ok\n"},
                     {.is_head = true});
    const ParsedResponse response(out, Method::head);
    EXPECT_EQ(response.field("content-length"), "3");
    EXPECT_EQ(response.body(), "");
}

std::string problem(const ProblemReply& reply, const ReplyOptions& options = {}) {
    std::string out;
    append_problem_reply(out, reply, options);
    return out;
}

TEST(Reply, OfEveryProblemParsesBack) {
    for (int i = 0; i <= static_cast<int>(Problem::cancelled); ++i) {
        const auto which = static_cast<Problem>(i);
        const ParsedResponse response(problem({.text = {.problem = which, .detail = "why"}}));
        EXPECT_EQ(response.head().status, status_of(which));
        EXPECT_EQ(response.field("content-type"), "application/problem+json");
        EXPECT_EQ(response.head().length, response.body().size());
        EXPECT_EQ(response.field("www-authenticate"), status_of(which) == 401 ? "Bearer" : "-");
        EXPECT_EQ(response.field("x-should-retry"), may_be_resent(which) ? "-" : "false");
        EXPECT_EQ(response.field("retry-after"), "-");
        EXPECT_EQ(response.field("turnpike-job"), "-");
    }
}

TEST(Reply, TellsWhenToComeBackInWholeSecondsAndNotAtOnce) {
    const ProblemText text{.problem = Problem::queue_full};
    EXPECT_EQ(ParsedResponse(problem({.text = text, .retry_after = 1ms})).field("retry-after"),
              "1");
    EXPECT_EQ(ParsedResponse(problem({.text = text, .retry_after = 1s})).field("retry-after"), "1");
    EXPECT_EQ(ParsedResponse(problem({.text = text, .retry_after = 1001ms})).field("retry-after"),
              "2");
    EXPECT_EQ(ParsedResponse(problem({.text = text, .retry_after = 10min})).field("retry-after"),
              "600");
}

TEST(Reply, TellsTheMarksOfAJobThatHadAProblem) {
    const JobMarks waited{.job = "abc", .queue = 3ms};
    const ParsedResponse response(
        problem({.text = {.problem = Problem::waited_too_long, .job = "abc"}, .marks = &waited}));
    EXPECT_EQ(response.field("turnpike-job"), "abc");
    EXPECT_EQ(response.field("turnpike-lane"), "-") << "it never ran";
    EXPECT_EQ(response.field("server-timing"), "queue;dur=3.000");
}

TEST(Reply, TellsTheAllowedMethods) {
    const ProblemText text{.problem = Problem::method_not_allowed};
    EXPECT_EQ(ParsedResponse(problem({.text = text, .allow = "GET, HEAD"})).field("allow"),
              "GET, HEAD");
}

TEST(Reply, ToAPreflightHasNoBody) {
    std::string out;
    append_preflight_reply(out, "POST", "content-type, x-y",
                           {.allowed_origin = "https://ui.example"});
    const ParsedResponse response(out, Method::options);
    EXPECT_EQ(response.head().status, 204);
    EXPECT_EQ(response.body(), "");
    EXPECT_EQ(response.field("content-length"), "-");
    EXPECT_EQ(response.field("content-type"), "-");
    EXPECT_EQ(response.field("access-control-allow-methods"), "POST");
    EXPECT_EQ(response.field("access-control-allow-headers"), "content-type, x-y");
    EXPECT_EQ(response.field("access-control-allow-origin"), "https://ui.example");
}

TEST(Reply, ToAPreflightWithoutFieldsAllowsNone) {
    std::string out;
    append_preflight_reply(out, "GET", "", {.allowed_origin = "https://ui.example"});
    EXPECT_EQ(ParsedResponse(out, Method::options).field("access-control-allow-headers"), "-");
}

}  // namespace
}  // namespace turnpike
