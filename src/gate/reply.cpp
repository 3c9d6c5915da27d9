#include "gate/reply.h"

#include <algorithm>
#include <chrono>

#include "base/append.h"
#include "http/fields.h"
#include "http/write.h"

namespace turnpike {

namespace {

constexpr std::string_view exposed_fields =
    "Turnpike-Job, Turnpike-Lane, Turnpike-Attempt, Turnpike-Generation, Server-Timing, "
    "Retry-After, x-should-retry";

void append_connection(std::string& out, const ReplyOptions& options) {
    if (!options.keeps_alive)
        http::append_field(out, "Connection", "close");
    else if (options.is_http_1_0)
        http::append_field(out, "Connection", "keep-alive");
}

void append_cors(std::string& out, const ReplyOptions& options) {
    if (options.allowed_origin.empty()) return;
    http::append_field(out, "Access-Control-Allow-Origin", options.allowed_origin);
    http::append_field(out, "Access-Control-Expose-Headers", exposed_fields);
    http::append_field(out, "Vary", "Origin");
}

void append_marks(std::string& out, const JobMarks& marks) {
    http::append_field(out, "Turnpike-Job", marks.job);
    if (marks.lane) {
        http::append_field(out, "Turnpike-Lane", *marks.lane);
        http::append_field(out, "Turnpike-Attempt", std::uint64_t{marks.attempts});
        http::append_field(out, "Turnpike-Generation", marks.generation);
    }
    out.append("Server-Timing: queue;dur=");
    append_milliseconds(out, marks.queue);
    if (marks.lane) {
        out.append(", run;dur=");
        append_milliseconds(out, marks.run);
    }
    out.append("\r\n");
}

std::uint64_t whole_seconds(Duration duration) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(duration).count();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 1));
}

}  // namespace

ReplyFraming append_answer_head(std::string& out, const AnswerHead& answer,
                                const ReplyOptions& options, const JobMarks& marks) {
    http::append_status_line(out, answer.status);
    out.append(answer.fields);
    if (!answer.has_date) http::append_field(out, "Date", options.date);
    append_marks(out, marks);
    append_connection(out, options);
    if (!answer.allows_origins) append_cors(out, options);
    ReplyFraming framing = ReplyFraming::none;
    if (answer.has_body && answer.has_length) {
        http::append_field(out, "Content-Length", answer.length);
        framing = ReplyFraming::length;
    } else if (answer.has_body && options.is_http_1_0) {
        framing = ReplyFraming::until_close;
    } else if (answer.has_body) {
        http::append_field(out, "Transfer-Encoding", "chunked");
        framing = ReplyFraming::chunked;
    }
    out.append("\r\n");
    return framing;
}

void append_own_reply(std::string& out, const OwnReply& reply, const ReplyOptions& options) {
    http::append_status_line(out, reply.status);
    http::append_field(out, "Date", options.date);
    if (!reply.content_type.empty()) http::append_field(out, "Content-Type", reply.content_type);
    if (reply.status != 204) http::append_field(out, "Content-Length", reply.body.size());
    http::append_field(out, "Cache-Control", "no-store");
    out.append(reply.extra_fields);
    append_connection(out, options);
    append_cors(out, options);
    out.append("\r\n");
    if (!options.is_head) out.append(reply.body);
}

void append_problem_reply(std::string& out, const ProblemReply& reply,
                          const ReplyOptions& options) {
    std::string body;
    append_problem(body, reply.text);
    std::string fields;
    const int status = status_of(reply.text.problem);
    if (reply.marks != nullptr) append_marks(fields, *reply.marks);
    if (reply.retry_after > Duration::zero())
        http::append_field(fields, "Retry-After", whole_seconds(reply.retry_after));
    if (status == 405) http::append_field(fields, "Allow", reply.allow);
    if (status == 401) http::append_field(fields, "WWW-Authenticate", "Bearer");
    if (!may_be_resent(reply.text.problem)) http::append_field(fields, "x-should-retry", "false");
    append_own_reply(out,
                     {.status = status,
                      .content_type = "application/problem+json",
                      .body = body,
                      .extra_fields = fields},
                     options);
}

void append_preflight_reply(std::string& out, std::string_view method, std::string_view fields,
                            const ReplyOptions& options) {
    std::string extra;
    http::append_field(extra, "Access-Control-Allow-Methods", method);
    if (!fields.empty()) http::append_field(extra, "Access-Control-Allow-Headers", fields);
    http::append_field(extra, "Access-Control-Max-Age", "600");
    append_own_reply(out, {.status = 204, .content_type = {}, .body = {}, .extra_fields = extra},
                     options);
}

bool is_event_stream(const AnswerHead& answer) {
    std::string_view rest = answer.fields;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find("\r\n"));
        rest.remove_prefix(std::min(line.size() + 2, rest.size()));
        const std::size_t colon = std::min(line.find(':'), line.size());
        if (!http::is_named(line.substr(0, colon), "content-type")) continue;
        const std::string_view type = line.substr(std::min(colon + 1, line.size()));
        return http::is_named(http::media_type(type), "text/event-stream");
    }
    return false;
}

void append_error_event(std::string& out, const ProblemText& text) {
    out.append("event: error\ndata: ");
    append_problem(out, text);  // one line
    out.append("\n");
}

}  // namespace turnpike
