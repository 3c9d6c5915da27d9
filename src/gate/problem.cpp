#include "gate/problem.h"

#include <array>
#include <charconv>

#include "base/check.h"
#include "base/json_text.h"

namespace turnpike {

namespace {

struct Row {
    Problem problem;
    int status;
    std::string_view slug;
    std::string_view title;
    std::string_view advice;
};

constexpr std::array rows{
    Row{Problem::malformed, 400, "malformed", "The request is not valid HTTP/1.1.",
        "Correct the request, and send it on a new connection: this one was closed."},
    Row{Problem::bad_header, 400, "bad-header", "A Turnpike header field has an invalid value.",
        "docs/http-api.md lists the fields and their values."},
    Row{Problem::bad_query, 400, "bad-query", "The query of this route is not valid.",
        "docs/http-api.md lists the routes and their queries."},
    Row{Problem::bad_json, 400, "bad-json",
        "The body is not a JSON object, so its \"model\" can't choose the pool.",
        "Send a JSON object, or name the pool with the header Turnpike-Pool."},
    Row{Problem::target_too_long, 414, "target-too-long", "The request target is too long.",
        "Send long input in the body."},
    Row{Problem::head_too_large, 431, "head-too-large", "The header fields are too large.",
        "Send fewer or shorter fields."},
    Row{Problem::unsupported, 501, "unsupported", "The method or the upgrade is not supported.",
        "Use plain HTTP/1.1 with GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS."},
    Row{Problem::unsupported_version, 505, "unsupported-version",
        "This version of HTTP is not supported.", "Use HTTP/1.1 or HTTP/1.0."},
    Row{Problem::bad_expectation, 417, "bad-expectation",
        "The Expect field has a value other than 100-continue.", "Remove the Expect field."},
    Row{Problem::body_too_large, 413, "body-too-large", "The body is larger than gate.body_max.",
        "Send less, or raise gate.body_max."},
    Row{Problem::too_slow, 408, "too-slow", "The request came too slowly.",
        "Send it again over a faster connection, or change gate.head_timeout or "
        "gate.body_rate_min."},
    Row{Problem::no_room_on_disk, 507, "no-room-on-disk", "The body could not be stored.",
        "Make room in gate.spool (for native workers: in memory), or send a smaller body (up to 1 "
        "MiB stays in memory)."},
    Row{Problem::no_key, 401, "no-key", "The request has no API key.",
        "Send the header Authorization: Bearer KEY. To make a key: turnpike key new NAME"},
    Row{Problem::wrong_key, 401, "wrong-key", "The API key is not known.",
        "Send a valid key. To list the keys: turnpike key list"},
    Row{Problem::not_permitted, 403, "not-permitted", "The caller may not use this route.",
        "Use an admin key, or the command line on the machine itself. On a gate without keys, web "
        "pages of other origins, other programs on the Unix socket (curl --unix-socket), and what "
        "a proxy forwards may only send jobs."},
    Row{Problem::foreign_host, 403, "foreign-host",
        "The Host field names a host that this gate does not allow.",
        "Add the name to gate.allowed_hosts, or send an API key."},
    Row{Problem::foreign_origin, 403, "foreign-origin",
        "A web page of this origin may not use this gate.",
        "Add the origin of the page to gate.allowed_origins."},
    Row{Problem::no_route, 404, "no-route", "There is no such route under /-/.",
        "docs/http-api.md lists the routes; every path outside /-/ goes to the model."},
    Row{Problem::method_not_allowed, 405, "method-not-allowed", "This method is not allowed.",
        "Use a method that the Allow field lists."},
    Row{Problem::no_job, 404, "no-job", "There is no such job among the live and recent ones.",
        "GET /-/jobs, or turnpike jobs, lists them."},
    Row{Problem::no_crash, 404, "no-crash", "There is no crash report of that name.",
        "GET /-/crashes, or turnpike crashes, lists them."},
    Row{Problem::no_pool, 404, "no-pool", "The request does not name a pool of this gate.",
        "Name a pool in the path, /-/to/POOL/path, or in the header Turnpike-Pool."},
    Row{Problem::no_lane_of_that_name, 404, "unknown-lane",
        "There is no such lane, or it belongs to another pool.", "GET /-/status lists the lanes."},
    Row{Problem::queue_full, 429, "queue-full", "The queue of this pool is full.",
        "Send the job again after the time in Retry-After, or raise queue.jobs_max."},
    Row{Problem::bytes_full, 429, "bytes-full",
        "The gate holds as many bytes of request bodies as queue.bytes_max allows.",
        "Send the job again after the time in Retry-After, or raise queue.bytes_max."},
    Row{Problem::arrivals_full, 429, "arrivals-full", "Too many uploads are under way.",
        "Send the job again after the time in Retry-After, or raise queue.arriving_max."},
    Row{Problem::lane_queue_full, 429, "lane-queue-full",
        "As many jobs as allowed wait for the lane of Turnpike-Lane.",
        "Leave Turnpike-Lane out: then any lane takes the job."},
    Row{Problem::client_limit, 429, "client-limit",
        "The client has as many jobs or bytes as it may have.",
        "Wait until some of its jobs have ended, or raise the limits of its key."},
    Row{Problem::crowded_out, 429, "crowded-out",
        "The upload was ended to make room, because its client holds most of queue.bytes_max.",
        "Send the job again after the time in Retry-After, upload faster, or raise "
        "queue.bytes_max."},
    Row{Problem::aside_full, 503, "aside-full", "No lane can take this cheap request now.",
        "Try again in a moment."},
    Row{Problem::rate_exceeded, 429, "rate-exceeded",
        "This key has sent more jobs than its rate allows.",
        "Send the job again after the time in Retry-After, or ask for a key with a higher rate."},
    Row{Problem::no_lane, 503, "no-lane", "No lane can serve this job.",
        "GET /-/status, or turnpike status, shows why."},
    Row{Problem::waited_too_long, 503, "waited-too-long",
        "The job waited longer than queue.wait_max.",
        "Send the job again after the time in Retry-After."},
    Row{Problem::shutting_down, 503, "shutting-down", "The gate is shutting down.",
        "Send the job again when the gate is back."},
    Row{Problem::shortage, 503, "shortage",
        "Turnpike itself was short of descriptors, memory, TCP ports or disk for this job.",
        "Send the job again after the time in Retry-After. docs/operations.md says what whoever "
        "runs Turnpike can do (Limits of the system)."},
    Row{Problem::worker_died, 502, "worker-died", "The worker died while it had the job.",
        "Look at the worker's log; the job may be sent again."},
    Row{Problem::poison, 502, "poison",
        "Twice a worker died, or broke its answer off, while it had only this job.",
        "Do not send it again: look at what the model does with this input."},
    Row{Problem::known_poison, 502, "known-poison",
        "An equal job killed two workers a short while ago, so this one was not run.",
        "Do not send it again: look at what the model does with this input. Equal jobs run "
        "again after a reload or a restart of the pool, or after its poison_keep."},
    Row{Problem::deadline_passed, 504, "deadline-passed",
        "The job took longer than Turnpike-Timeout allows.", "Allow more time, or send less work."},
    Row{Problem::ran_too_long, 504, "ran-too-long", "The job ran longer than job_timeout.",
        "Raise job_timeout of the pool, or send less work."},
    Row{Problem::bad_input, 400, "bad-input", "The model can't take this input.",
        "Correct the input; the detail is the model's message."},
    Row{Problem::model_failed, 500, "model-failed", "The model failed.",
        "Look at the worker's log."},
    Row{Problem::out_of_memory, 500, "out-of-memory", "The GPU ran out of memory.",
        "Send a smaller input."},
    Row{Problem::non_finite, 500, "non-finite", "The model returned NaN or infinity.",
        "Look at what the model does with this input."},
    Row{Problem::no_stacks, 409, "no-stacks", "The stacks of the lane's worker can't be dumped.",
        "GET /-/status, or turnpike status, shows the state of the lane."},
    Row{Problem::no_reload, 409, "no-reload", "The pool can't be reloaded.",
        "Restart its workers where they were started."},
    Row{Problem::no_proof, 409, "no-proof", "The pool has no proof.",
        "Add [pool.NAME.proof] to the configuration, or give the model an example."},
    Row{Problem::cancelled, 409, "cancelled", "The job was cancelled.",
        "Send it again if it is still wanted."},
};

constexpr bool rows_are_in_order() {
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (static_cast<std::size_t>(rows[i].problem) != i) return false;
    return rows.size() == static_cast<std::size_t>(Problem::cancelled) + 1;
}
static_assert(rows_are_in_order());

const Row& row_of(Problem problem) { return rows[static_cast<std::size_t>(problem)]; }

void append_member(std::string& out, std::string_view name, std::string_view value) {
    out.append(",\"").append(name).append("\":");
    append_json_string(out, value);
}

/// Returns the type that OpenAI's own errors of this status have.
std::string_view type_for_openai(int status) {
    if (status == 401) return "authentication_error";
    if (status == 403) return "permission_error";
    if (status == 429) return "rate_limit_error";
    return status >= 500 ? "server_error" : "invalid_request_error";
}

/// Appends the member that OpenAI's clients read, and show to their user.
void append_error_of_openai(std::string& out, const Row& row, std::string_view detail) {
    std::string message(row.title);
    if (!detail.empty()) message.replace(message.size() - 1, 1, ": ").append(detail);
    out.append(",\"error\":{\"message\":");
    append_json_string(out, message);
    append_member(out, "type", type_for_openai(row.status));
    append_member(out, "code", row.slug);
    out.append("}");
}

/// Returns the advice. If the lane is known, adds the command to it: "Look at the worker's log
/// (turnpike logs 3)."
std::string advice_of(const Row& row, const std::optional<std::uint64_t>& lane) {
    constexpr std::string_view log = "the worker's log";
    std::string advice(row.advice);
    if (const std::size_t at = advice.find(log); lane && at != std::string::npos)
        advice.insert(at + log.size(), " (turnpike logs " + std::to_string(*lane) + ")");
    return advice;
}

}  // namespace

int status_of(Problem problem) { return row_of(problem).status; }

std::string_view slug_of(Problem problem) { return row_of(problem).slug; }

Problem problem_of(EndReason reason) {
    switch (reason) {
        case EndReason::bad_input: return Problem::bad_input;
        case EndReason::answered:
        case EndReason::model_failed: return Problem::model_failed;
        case EndReason::non_finite: return Problem::non_finite;
        case EndReason::out_of_memory: return Problem::out_of_memory;
        case EndReason::worker_died:
        case EndReason::stream_broken: return Problem::worker_died;
        case EndReason::poison: return Problem::poison;
        case EndReason::known_poison: return Problem::known_poison;
        case EndReason::deadline_passed: return Problem::deadline_passed;
        case EndReason::ran_too_long: return Problem::ran_too_long;
        case EndReason::waited_too_long: return Problem::waited_too_long;
        case EndReason::no_lane: return Problem::no_lane;
        case EndReason::lane_unknown: return Problem::no_lane_of_that_name;
        case EndReason::queue_full: return Problem::queue_full;
        case EndReason::bytes_full: return Problem::bytes_full;
        case EndReason::arrivals_full: return Problem::arrivals_full;
        case EndReason::lane_queue_full: return Problem::lane_queue_full;
        case EndReason::client_limit: return Problem::client_limit;
        case EndReason::crowded_out: return Problem::crowded_out;
        case EndReason::body_failed: return Problem::malformed;
        case EndReason::aside_full: return Problem::aside_full;
        case EndReason::rate_exceeded: return Problem::rate_exceeded;
        case EndReason::shutting_down: return Problem::shutting_down;
        case EndReason::shortage: return Problem::shortage;
        case EndReason::client_left:
        case EndReason::cancel_asked:
        case EndReason::client_too_slow:
        case EndReason::answers_full:
        case EndReason::answer_lost: return Problem::cancelled;
    }
    return Problem::model_failed;
}

bool may_be_resent(Problem problem) {
    const int status = status_of(problem);
    return status != 409 && (status < 500 || status == 503 || status == 507);
}

bool is_model_failure(EndReason reason) {
    return reason == EndReason::model_failed || reason == EndReason::non_finite ||
           reason == EndReason::out_of_memory;
}

void append_problem(std::string& out, const ProblemText& text) {
    const Row& row = row_of(text.problem);
    std::array<char, 8> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), row.status).ptr;
    out.append("{\"type\":\"urn:turnpike:problem:").append(row.slug).append("\",\"title\":");
    append_json_string(out, row.title);
    out.append(",\"status\":").append(digits.data(), end);
    if (!text.detail.empty()) append_member(out, "detail", text.detail);
    append_member(out, "next", advice_of(row, text.lane));
    if (!text.job.empty()) append_member(out, "job", text.job);
    append_error_of_openai(out, row, text.detail);
    out.append("}\n");
}

}  // namespace turnpike
