// The keys of every pool, and those of its proof.
#include <array>

#include "config/model.h"
#include "config/placeholders.h"
#include "config/places.h"
#include "config/row_parts.h"
#include "config/rows.h"
#include "config/text.h"

namespace turnpike {
namespace {

constexpr std::size_t model_length_max = 256;
constexpr std::size_t proof_text_max = mebibyte.count;

template <auto Member>
auto& of_pool(Draft& draft) {
    return draft.pool.*Member;
}
template <auto Member>
auto& of_config(Draft& draft) {
    return draft.pool.config.*Member;
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
    if (std::string problem = problem_with_line(text, Bytes{16384}); !problem.empty())
        return std::unexpected(std::move(problem));
    const int ways = int{has_placeholder(text, "port")} + int{has_placeholder(text, "socket")};
    if (ways != 1)
        return std::unexpected(ways == 0
                                   ? "must contain {port} (or {socket}), where the worker listens"
                                   : "has both {port} and {socket}; use only one");
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
        TextKey{take_model, R"("model.py", "model.py:Name", "app.py:app" (ASGI), a program, or "")",
                R"("")"},
        "A model that Turnpike runs in one worker per lane: a Python file, optionally with the\n"
        "name of a class in it, or a program. The path is relative to the folder of this file."},
    Key{"worker",
        TextKey{take_worker, "a command for /bin/sh, with {port} or {socket}",
                R"("uvicorn app:app --port {port}")"},
        "Instead of a model: the command that starts an HTTP server, run once per lane in the\n"
        "folder of this file. Turnpike replaces {port} or {socket} (the path of a Unix socket),\n"
        "{gpu}, {gpus} and {lane}. There is no default."},
    Key{"attach", ListKey{take_attach, lanes_max, "URLs", "[]"},
        "Instead of both: HTTP servers that are already running, one lane each, such as\n"
        "[\"http://127.0.0.1:8001\", \"http://127.0.0.1:8002/prefix\"]."},
    Key{"default", FlagKey{of_config<&PoolConfig::is_default>},
        "This pool takes the jobs that name no pool. Needed only if there are several pools."},
    Key{"models", ListKey{take_model_name, list_max, "names", "[]"},
        "Jobs whose JSON field \"model\" has one of these names go to this pool."},
    Key{"slots", CountKey{of_settings<&PoolSettings::slots>, 1, slots_max},
        "How many jobs a lane runs at once. If this key is not set, a model decides for itself."},
    Key{"aside",
        ListKey{take_aside, list_max, R"(rules such as "GET /docs", "GET /static/*")", "[]"},
        "Cheap requests that take no slot. They go to any serving lane, even while it runs\n"
        "jobs."},
    Key{"aside_max", CountKey{of_settings<&PoolSettings::aside_max>, 0, 1024},
        "How many aside requests a lane takes at once. More are refused with 503."},
    Key{"job_timeout", TimeKey{of_settings<&PoolSettings::job_timeout>, 1ms, long_time},
        "How long a job may run without sending a byte of its answer or reporting progress.\n"
        "Then the client gets 504. Raise it for models that compute for a long time."},
    Key{"cancel", TextKey{take_cancel, R"("finish", "close" or "kill")", R"("finish")"},
        "What happens to a running job that is cancelled or whose client has left: \"finish\"\n"
        "lets it finish, \"close\" closes its connection to the worker, \"kill\" kills the worker\n"
        "(only with one slot, and only if Turnpike started the worker). With \"close\" a model\n"
        "is told, and may stop early. The default is \"close\" for models and with several\n"
        "slots, else \"finish\"."},
    Key{"cancel_grace", TimeKey{of_settings<&PoolSettings::cancel_grace>, 1ms, long_time},
        "How long a cancelled job may continue. Then its worker is ended and started again; an\n"
        "attached worker gets no jobs until it answers again."},
    Key{"abandon_after",
        TimeKey{of_settings<&PoolSettings::abandon_after>, Duration::zero(), long_time},
        "How long a worker may go on when nobody waits for any of its jobs any more. After this\n"
        "and cancel_grace it is ended and started again; an attached worker gets no jobs until\n"
        "it answers again. \"0s\" allows slow_factor times the usual time of a job, and no less\n"
        "than the worker took to start, but at most job_timeout."},
    Key{"retry", FlagKey{of_settings<&PoolSettings::may_retry>},
        "Run a job once more if its worker died. With false, nothing that a worker may have\n"
        "read is sent again, and each request to an HTTP worker gets a connection of its own."},
    Key{"keep_alive", FlagKey{of_config<&PoolConfig::keep_alive>},
        "Use a connection to an HTTP worker for several requests, one after the other. With false\n"
        "each request gets a connection of its own, so that no answer can reach another job,\n"
        "whatever the worker sends."},
    Key{"poison_keep",
        TimeKey{of_settings<&PoolSettings::poison_keep>, Duration::zero(), long_time},
        "How long a job that killed two workers is remembered. An equal job is not run, but\n"
        "answered with 502. \"0s\" remembers nothing."},
    Key{"fail_streak", CountKey{of_settings<&PoolSettings::fail_streak>, 1, 1000},
        "After this many failed jobs in a row, while other lanes do better, a lane must pass\n"
        "its proof (or rest, without a proof) before it takes more jobs."},
    Key{"health.path", TextKey{take_health_path, "a path", R"("/health")"},
        "The path at which idle HTTP workers are checked. A status of 2xx to 4xx is healthy."},
    Key{"health.every", TimeKey{of_settings<&PoolSettings::probe_every>, 10ms, 1h},
        "How often an idle lane is checked."},
    Key{"health.timeout", TimeKey{of_settings<&PoolSettings::probe_timeout>, 10ms, 1h},
        "How long the answer to a health check may take."},
    Key{"health.failures", CountKey{of_settings<&PoolSettings::probe_failures_max>, 1, 100},
        "After this many failed checks in a row the worker is ended and started again; an\n"
        "attached worker gets no jobs until it answers again. A refused connection has the same\n"
        "effect at once."},
    Key{"restart_delay_min", TimeKey{of_settings<&PoolSettings::restart_delay_min>, 1ms, 1h},
        "How long a lane waits after trouble before it starts again. Each further trouble\n"
        "doubles the wait."},
    Key{"restart_delay_max", TimeKey{of_settings<&PoolSettings::restart_delay_max>, 1ms, 24h},
        "The longest wait after trouble (see restart_delay_min)."},
    Key{"restart_good_run", TimeKey{of_settings<&PoolSettings::restart_good_run>, 1ms, long_time},
        "After a lane has served for this long, its next wait is restart_delay_min again."},
    Key{"slow_factor", CountKey{of_settings<&PoolSettings::slow_factor>, 2, 1000},
        "A job is reported as slow once it has run for this many times the usual time, and for\n"
        "at least slow_min."},
    Key{"slow_min", TimeKey{of_settings<&PoolSettings::slow_min>, 1ms, long_time},
        "A job that runs for less than this is never reported as slow."},
};

constexpr std::array proof{
    Key{"request", TextKey{take_request, "a method and a path", R"("POST /predict")"},
        "The request to send: a method and a path."},
    Key{"content_type",
        TextKey{take_content_type, "a media type, or \"\" for none", R"("application/json")"},
        "The Content-Type of the body."},
    Key{"body", TextKey{take_proof_text<of_proof<&ProofConfig::body>>, "at most 1MiB", R"("")"},
        "The request body."},
    Key{"status", CountKey{of_pool<&PoolDraft::proof_status>, 200, 599},
        "The status of the right answer."},
    Key{"expect",
        TextKey{take_proof_text<of_pool<&PoolDraft::expect>>, "at most 1MiB; \"\" if not used",
                R"("")"},
        "The exact bytes of the right answer."},
    Key{"expect_json",
        TextKey{take_proof_text<of_pool<&PoolDraft::expect_json>>,
                "JSON of at most 1MiB; \"\" if not used", R"('{"digit": 7}')"},
        "The right answer as JSON. Its numbers may differ by the tolerances. There is no\n"
        "default."},
    Key{"agree", FlagKey{of_pool<&PoolDraft::agree>},
        "If you do not know the right answer: compare the lanes with each other. A lane that\n"
        "differs from most others fails."},
    Key{"tolerance_absolute", NumberKey{of_proof<&ProofConfig::tolerance_absolute>, 0, 1e300},
        "Numbers may differ by this much, or by tolerance_relative."},
    Key{"tolerance_relative", NumberKey{of_proof<&ProofConfig::tolerance_relative>, 0, 1},
        "Numbers may differ by this fraction of the right one."},
    Key{"every", TimeKey{of_settings<&PoolSettings::proof_every>, 1s, long_time},
        "How often each lane repeats its proof: between jobs, one lane at a time."},
    Key{"timeout", TimeKey{of_settings<&PoolSettings::proof_timeout>, 1ms, long_time},
        "How long the answer to a proof may take."},
};

}  // namespace

std::span<const Key> pool_keys() { return pool; }
std::span<const Key> proof_keys() { return proof; }

}  // namespace turnpike
