// The keys of a pool, whoever starts its workers.
#include <array>

#include "config/model.h"
#include "config/placeholders.h"
#include "config/places.h"
#include "config/rows.h"
#include "config/text.h"

namespace turnpike {
namespace {

constexpr Duration long_time = 720h;
constexpr std::size_t list_max = 1024;
constexpr std::size_t model_length_max = 256;
constexpr std::size_t proof_text_max = mebibyte.count;

using Taken = std::expected<void, std::string>;

template <auto Member>
auto& of_pool(Draft& draft) {
    return draft.pool.*Member;
}
template <auto Member>
auto& of_config(Draft& draft) {
    return draft.pool.config.*Member;
}
template <auto Member>
auto& of_settings(Draft& draft) {
    return draft.pool.config.settings.*Member;
}
template <auto Member>
auto& of_proof(Draft& draft) {
    return draft.pool.config.proof.*Member;
}

Taken take_attach(Draft& draft, std::string_view text) {
    auto url = parse_worker_url(text);
    if (!url) return std::unexpected(std::move(url.error()));
    draft.pool.config.attach.push_back(std::move(*url));
    return {};
}

Taken take_model_name(Draft& draft, std::string_view text) {
    if (text.empty() || text.size() > model_length_max || has_control_characters(text))
        return std::unexpected("must be a model's name, of at most 256 bytes");
    draft.pool.config.models.emplace_back(text);
    return {};
}

Taken take_aside(Draft& draft, std::string_view text) {
    auto rule = parse_aside_rule(text);
    if (!rule) return std::unexpected(std::move(rule.error()));
    draft.pool.config.aside.push_back(std::move(*rule));
    return {};
}

Taken take_cancel(Draft& draft, std::string_view text) {
    for (const CancelPolicy policy :
         {CancelPolicy::finish, CancelPolicy::close, CancelPolicy::kill}) {
        if (text != name_of(policy)) continue;
        draft.pool.cancel = policy;
        return {};
    }
    return std::unexpected(R"(must be "finish", "close" or "kill")");
}

Taken take_health_path(Draft& draft, std::string_view text) {
    if (std::string problem = problem_with_target(text); !problem.empty())
        return std::unexpected(std::move(problem));
    draft.pool.config.health_path = text;
    return {};
}

Taken take_request(Draft& draft, std::string_view text) {
    auto line = parse_request_line(text);
    if (!line) return std::unexpected(std::move(line.error()));
    draft.pool.config.proof.method = std::move(line->method);
    draft.pool.config.proof.path = std::move(line->target);
    return {};
}

Taken take_content_type(Draft& draft, std::string_view text) {
    if (text.size() > 256 || has_control_characters(text))
        return std::unexpected("must be a media type, of at most 256 bytes");
    draft.pool.config.proof.content_type = text;
    return {};
}

template <auto Where>
Taken take_proof_text(Draft& draft, std::string_view text) {
    if (text.size() > proof_text_max) return std::unexpected("is longer than 1MiB");
    Where(draft) = text;
    return {};
}

Taken take_worker(Draft& draft, std::string_view text) {
    constexpr std::size_t length_max = 16384;
    if (text.size() > length_max) return std::unexpected("is longer than 16KiB");
    if (has_control_characters(text))
        return std::unexpected("has a line break or another control character");
    const int ways = int{has_placeholder(text, "port")} + int{has_placeholder(text, "socket")};
    if (ways != 1)
        return std::unexpected(ways == 0 ? "must say {port} (or {socket}), where the worker listens"
                                         : "has both {port} and {socket}; one is enough");
    draft.pool.config.worker.command = text;
    return {};
}

Taken take_model(Draft& draft, std::string_view text) {
    auto model = parse_model(text);
    if (!model) return std::unexpected(std::move(model.error()));
    draft.pool.config.worker.model = std::move(*model);
    return {};
}

constexpr std::array pool{
    Key{"model",
        TextKey{take_model,
                R"("model.py", "model.py:Name", "app.py:app" (ASGI) or a program; "" is none)",
                R"("")"},
        "A model for Turnpike's own workers, one for each lane: a Python file, perhaps with the\n"
        "name of a class in it, or a program. Its path is relative to the folder of this file."},
    Key{"worker",
        TextKey{take_worker, "for /bin/sh, with {port} or {socket}",
                R"("uvicorn app:app --port {port}")"},
        "Instead of that: the command of an HTTP server, run for each lane in this file's folder.\n"
        "Filled in: {port} or {socket} (a Unix socket's path), {gpu}, {gpus}, {lane}. No default."},
    Key{"attach", ListKey{take_attach, lanes_max, "URLs", "[]"},
        "Or instead of both: workers that somebody else started, each a lane, such as\n"
        "[\"http://127.0.0.1:8001\", \"http://127.0.0.1:8002/prefix\"]."},
    Key{"default", FlagKey{of_config<&PoolConfig::is_default>},
        "Takes the jobs that name no pool. The only pool does so anyway."},
    Key{"models", ListKey{take_model_name, list_max, "names", "[]"},
        "Jobs whose JSON field \"model\" says one of these go here."},
    Key{"slots", CountKey{of_settings<&PoolSettings::slots>, 1, slots_max},
        "Jobs at once on a lane. Unsaid, a model says so itself."},
    Key{"aside",
        ListKey{take_aside, list_max, R"(rules such as "GET /docs", "GET /static/*")", "[]"},
        "Cheap requests: they go to any serving lane and take no slot."},
    Key{"aside_max", CountKey{of_settings<&PoolSettings::aside_max>, 0, 1024},
        "Such requests at once on a lane; more are refused with 503."},
    Key{"job_timeout", TimeKey{of_settings<&PoolSettings::job_timeout>, 1ms, long_time},
        "From a job's start, or the last byte of its answer, to 504."},
    Key{"cancel", TextKey{take_cancel, R"("finish", "close" or "kill")", R"("finish")"},
        "A running job that nobody wants any more may finish, or its connection is closed, or its\n"
        "worker is killed (one slot, and Turnpike started it). Default: finish with one slot,\n"
        "close with more. A model is told (close, its default) and may go on or not."},
    Key{"cancel_grace", TimeKey{of_settings<&PoolSettings::cancel_grace>, 1ms, long_time},
        "How long a cancelled job may go on before its lane is given up."},
    Key{"retry", FlagKey{of_settings<&PoolSettings::retry>},
        "A job whose worker died is run once more."},
    Key{"fail_streak", CountKey{of_settings<&PoolSettings::fail_streak>, 1, 1000},
        "A lane with this many failures in a row must show that it is well."},
    Key{"health.path", TextKey{take_health_path, "a path", R"("/health")"},
        "An idle lane is asked here how it is: 2xx to 4xx is well."},
    Key{"health.every", TimeKey{of_settings<&PoolSettings::probe_every>, 10ms, 1h}, "How often."},
    Key{"health.timeout", TimeKey{of_settings<&PoolSettings::probe_timeout>, 10ms, 1h},
        "How long the answer may take."},
    Key{"health.failures", CountKey{of_settings<&PoolSettings::probe_failures_max>, 1, 100},
        "This many in a row take the lane out; a refused connection does at once."},
    Key{"restart_delay_min", TimeKey{of_settings<&PoolSettings::restart_delay_min>, 1ms, 1h},
        "A lane that was taken out rests this long at first …"},
    Key{"restart_delay_max", TimeKey{of_settings<&PoolSettings::restart_delay_max>, 1ms, 24h},
        "… and at most this long after trouble upon trouble."},
    Key{"restart_good_run", TimeKey{of_settings<&PoolSettings::restart_good_run>, 1ms, long_time},
        "Serving this long, it has a clean record again."},
    Key{"slow_factor", CountKey{of_settings<&PoolSettings::slow_factor>, 2, 1000},
        "A job is flagged as slow at this many times the usual …"},
    Key{"slow_min", TimeKey{of_settings<&PoolSettings::slow_min>, 1ms, long_time},
        "… and at least this long."},
};

constexpr std::array proof{
    Key{"request", TextKey{take_request, "a method and a path", R"("POST /predict")"},
        "What is asked."},
    Key{"content_type",
        TextKey{take_content_type, "a media type; \"\" is none", R"("application/json")"},
        "The body's type."},
    Key{"body", TextKey{take_proof_text<of_proof<&ProofConfig::body>>, "at most 1MiB", R"("")"},
        "The body."},
    Key{"status", CountKey{of_pool<&PoolDraft::proof_status>, 200, 599},
        "The right answer's status."},
    Key{"expect",
        TextKey{take_proof_text<of_pool<&PoolDraft::expect>>, "at most 1MiB; \"\" is not used",
                R"("")"},
        "The right answer, byte by byte."},
    Key{"expect_json",
        TextKey{take_proof_text<of_pool<&PoolDraft::expect_json>>,
                "JSON of at most 1MiB; \"\" is not used", R"('{"digit": 7}')"},
        "The right answer as JSON; its numbers may differ by the tolerances. No default."},
    Key{"agree", FlagKey{of_pool<&PoolDraft::agree>},
        "Nobody knows the right answer: the lanes are compared with each other."},
    Key{"tolerance_absolute", NumberKey{of_proof<&ProofConfig::tolerance_absolute>, 0, 1e300},
        "Numbers may differ by this much …"},
    Key{"tolerance_relative", NumberKey{of_proof<&ProofConfig::tolerance_relative>, 0, 1},
        "… or by this part of the right one."},
    Key{"every", TimeKey{of_settings<&PoolSettings::proof_every>, 1s, long_time},
        "How often, between jobs, one lane at a time."},
    Key{"timeout", TimeKey{of_settings<&PoolSettings::proof_timeout>, 1ms, long_time},
        "How long the answer may take."},
};

}  // namespace

std::span<const Key> pool_keys() { return pool; }
std::span<const Key> proof_keys() { return proof; }

}  // namespace turnpike
