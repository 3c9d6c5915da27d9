// The heads of our responses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "gate/problem.h"
#include "stream/answer.h"

namespace turnpike {

/// What all responses to one request have in common.
struct ReplyOptions {
    bool keeps_alive = true;
    bool is_head = false;        // the method was HEAD: no body follows
    bool is_http_1_0 = false;    // the client does not understand chunks
    std::string allowed_origin;  // a web page of this origin may read the answer; may be empty
    std::string_view date;       // the current value of Date
};

/// What the gate tells about a job in header fields of its answer.
struct JobMarks {
    std::string_view job;
    std::optional<std::uint64_t> lane;
    std::uint32_t attempts = 0;
    std::uint64_t generation = 0;
    Duration queue = Duration::zero();
    Duration run = Duration::zero();
};

/// How the client finds the end of the body of a job's answer.
enum class ReplyFraming : std::uint8_t { none, length, chunked, until_close };

/// Appends the head of a worker's answer. Returns how its body must follow. After `until_close` the
/// connection must be closed.
ReplyFraming append_answer_head(std::string& out, const AnswerHead& answer,
                                const ReplyOptions& options, const JobMarks& marks);

struct OwnReply {
    int status = 200;
    std::string_view content_type;
    std::string_view body;
    std::string_view extra_fields;  // whole lines, each with its CRLF
};

/// Appends a whole response of our own.
void append_own_reply(std::string& out, const OwnReply& reply, const ReplyOptions& options);

struct ProblemReply {
    ProblemText text;
    Duration retry_after = Duration::zero();  // no Retry-After if zero
    std::string_view allow;                   // the value of Allow, with 405
    const JobMarks* marks = nullptr;          // nullptr unless a job was admitted
};

void append_problem_reply(std::string& out, const ProblemReply& reply, const ReplyOptions& options);

/// True if the Content-Type of the answer is that of server-sent events.
bool is_event_stream(const AnswerHead& answer);

/// Appends the last event of a stream that breaks.
void append_error_event(std::string& out, const ProblemText& text);

/// Appends the answer to a CORS preflight from an allowed origin.
void append_preflight_reply(std::string& out, std::string_view method, std::string_view fields,
                            const ReplyOptions& options);

}  // namespace turnpike
