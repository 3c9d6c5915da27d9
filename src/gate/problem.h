// The problems that Turnpike itself answers when it has no answer of a model. This is a closed
// list, sent as application/problem+json (RFC 9457). Each problem has a stable type, a status, a
// sentence and advice. docs/http-api.md lists them all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "core/words.h"

namespace turnpike {

enum class Problem : std::uint8_t {
    malformed,             // 400: the request is not valid HTTP/1.1
    bad_header,            // 400: a Turnpike-… field with an invalid value
    bad_query,             // 400: an invalid query of an own route
    bad_json,              // 400: "model" in the body chooses the pool, and the body is not JSON
    target_too_long,       // 414
    head_too_large,        // 431
    unsupported,           // 501: upgrades, unknown methods
    unsupported_version,   // 505
    bad_expectation,       // 417
    body_too_large,        // 413
    too_slow,              // 408
    no_room_on_disk,       // 507
    no_key,                // 401
    wrong_key,             // 401
    not_permitted,         // 403: no admin key, or (without keys) only jobs may be sent
    foreign_host,          // 403
    foreign_origin,        // 403
    no_route,              // 404: under /-/
    method_not_allowed,    // 405
    no_job,                // 404
    no_crash,              // 404
    no_pool,               // 404
    no_lane_of_that_name,  // 404: Turnpike-Lane, /-/lanes/N
    queue_full,            // 429
    bytes_full,            // 429
    arrivals_full,         // 429
    lane_queue_full,       // 429
    client_limit,          // 429
    crowded_out,           // 429
    aside_full,            // 503
    rate_exceeded,         // 429: more jobs than the rate of the key allows
    no_lane,               // 503
    waited_too_long,       // 503
    shutting_down,         // 503
    shortage,              // 503
    worker_died,           // 502
    poison,                // 502
    known_poison,          // 502
    deadline_passed,       // 504
    ran_too_long,          // 504
    bad_input,             // 400: the model refused the input and says why
    model_failed,          // 500
    out_of_memory,         // 500
    non_finite,            // 500
    no_stacks,             // 409: POST /-/lanes/N/stacks
    no_reload,             // 409: POST /-/pools/NAME/reload
    no_proof,              // 409: POST /-/pools/NAME/prove
    cancelled,             // 409: DELETE /-/jobs/ID
};

int status_of(Problem);
/// Returns the last part of the type, such as "queue-full".
std::string_view slug_of(Problem);

/// True if a program may send the same request again by itself. OpenAI's clients resend 408, 409,
/// 429 and all 5xx, unless they are told not to.
bool may_be_resent(Problem);

/// Returns the problem to answer for a job that ended without an answer of its worker.
Problem problem_of(EndReason reason);

/// True if the model's own code failed. Its message may be confidential.
bool is_model_failure(EndReason reason);

struct ProblemText {
    Problem problem = Problem::malformed;
    std::string_view detail;  // about this case; may be empty
    std::string_view job;     // its name; empty if the request never became a job
    std::optional<std::uint64_t> lane = std::nullopt;  // its log may say more
};

/// Appends the problem as a JSON object. Besides the members of RFC 9457 it has `error`, as OpenAI's
/// errors do.
void append_problem(std::string& out, const ProblemText& text);

}  // namespace turnpike
