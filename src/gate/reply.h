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

/// What every response to one request has in common.
struct ReplyOptions {
    bool keeps_alive = true;
    bool is_head = false;        // the method was HEAD: no body follows
    bool is_http_1_0 = false;    // no chunks
    std::string allowed_origin;  // of a web page that may read it; empty: none asks
    std::string_view date;       // of now
};

/// What a job's answer tells beside the worker's own fields.
struct JobMarks {
    std::string_view job;
    std::optional<std::uint64_t> lane;
    std::uint32_t attempts = 0;
    std::uint64_t generation = 0;
    Duration queue = Duration::zero();
    Duration run = Duration::zero();
};

/// How the body of a job's answer goes out.
enum class ReplyFraming : std::uint8_t { none, length, chunked, until_close };

/// The head of a worker's answer. Says how its body must follow; until_close needs a close.
ReplyFraming append_answer_head(std::string& out, const AnswerHead& answer,
                                const ReplyOptions& options, const JobMarks& marks);

struct OwnReply {
    int status = 200;
    std::string_view content_type;
    std::string_view body;
    std::string_view extra_fields;  // whole lines
};

/// A whole response of our own.
void append_own_reply(std::string& out, const OwnReply& reply, const ReplyOptions& options);

struct ProblemReply {
    ProblemText text;
    Duration retry_after = Duration::zero();  // zero: don't say
    std::string_view allow;                   // with 405
    const JobMarks* marks = nullptr;          // of a job that was admitted
};

void append_problem_reply(std::string& out, const ProblemReply& reply, const ReplyOptions& options);

/// Whether it says that it is server-sent events.
bool is_event_stream(const AnswerHead& answer);

/// The last event of a stream that breaks.
void append_error_event(std::string& out, const ProblemText& text);

/// The answer to a CORS preflight of an allowed origin.
void append_preflight_reply(std::string& out, std::string_view method, std::string_view fields,
                            const ReplyOptions& options);

}  // namespace turnpike
