#include "gate/pages.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "gate/lane_page.h"
#include "gate/model_page.h"
#include "gate/reload_page.h"

namespace turnpike {

namespace {

constexpr std::size_t listed_max = 200;  // live jobs on one page, and as many ended ones

bool is_ready(const View& view, PoolId pool) {
    for (const LaneView& lane : view.lanes)
        if (lane.pool == pool && is_serving(lane.state)) return true;
    return false;
}

std::string_view proof_state(const PoolView& view, bool ready) {
    if (!view.has_proof) return "none";
    if (view.is_majority_missing) return "no majority";
    return ready ? "passed" : "pending";
}

std::string_view name_of_state(JobState state) {
    switch (state) {
        case JobState::arriving: return "arriving";
        case JobState::queued: return "queued";
        case JobState::running: return "running";
    }
    return "";
}

/// Appends what became of the pool's jobs. The engine never heard of those that the gate refused.
void append_counts(JsonWriter& json, const Counts& counts, std::uint64_t refused_by_gate) {
    json.open_object();
    json.member("finished", counts.finished);
    json.member("failed", counts.failed);
    json.member("refused", counts.refused + refused_by_gate);
    json.member("timed_out", counts.timed_out);
    json.member("cancelled", counts.cancelled);
    json.close_object();
}

/// Appends how many clients the gate has cut off while they read an answer.
void append_cuts(JsonWriter& json, const LostAnswers& losses) {
    json.open_object();
    for (const EndReason why : {EndReason::client_too_slow, EndReason::answers_full})
        json.member(name_of(why), losses.cut_for(why));
    json.close_object();
}

/// Appends how long a job usually runs, or null until one was answered.
void append_usual(JsonWriter& json, const PoolView& pool) {
    pool.usual_run == Duration::zero() ? json.value(nullptr) : json.value(pool.usual_run);
}

/// Returns what the lanes of the pool run, in words.
std::string model_of(const PoolConfig& pool, const Caller& caller) {
    if (pool.is_native()) return model_name(pool.worker.model, caller);
    if (pool.is_started()) return caller.is_admin ? pool.worker.command : "started by Turnpike";
    return fmt::format("attached: {} worker{}", pool.attach.size(),
                       pool.attach.size() == 1 ? "" : "s");
}

/// Returns which of the three kinds of workers the pool has.
std::string_view kind_of(const PoolConfig& pool) {
    if (pool.is_native()) return "native";
    return pool.is_started() ? "http" : "attached";
}

struct PageContext {
    const OwnRouteDeps& deps;
    const View& view;
    const Caller& caller;
};

void append_pool(JsonWriter& json, const PageContext& context, const PoolView& pool) {
    const auto& [deps, view, caller] = context;
    const PoolConfig& config = deps.config.pools[pool.pool.value];
    const bool ready = is_ready(view, pool.pool);
    json.open_object();
    json.member("pool", config.name);
    json.member("kind", kind_of(config));
    json.member("model", model_of(config, caller));
    if (config.is_native())
        json.text_or_null("python", caller.is_admin ? config.worker.python : "");
    json.member("ready", ready);
    json.member("generation", pool.good.value);
    json.member("proof", proof_state(pool, ready));
    json.member("arriving", pool.arriving);
    json.member("queued", pool.queued);
    json.member("running", pool.running);
    json.member("oldest_wait_s", pool.oldest_wait);
    json.member("expected_wait_s", pool.expected_wait);
    json.key("usual_run_s"), append_usual(json, pool);
    json.key("reload"), append_reload(json, deps, view, pool.pool, caller);
    json.key("jobs");
    append_counts(json, deps.losses.correct(pool.pool, pool.counts), deps.refusals.of(pool.pool));
    json.close_object();
}

/// Returns, for each lane, its running jobs as JSON objects with commas between them.
std::vector<std::string> running_jobs(const OwnRouteDeps& deps, const View& view,
                                      const Caller& caller) {
    std::vector<std::string> lanes(view.lanes.size());
    const Instant now = deps.clock.now();
    deps.for_each_live([&](const JobRecord& record) {
        const auto job = deps.engine.find(record.job, now);
        if (!job || job->state != JobState::running || !may_see(caller, record)) return;
        std::string& list = lanes[job->lane.value];
        if (!list.empty()) list += ',';
        JsonWriter json(list);
        json.open_object();
        json.member("id", record.id.view());
        json.member("run_s", job->since);
        json.key("usual_s"), append_usual(json, view.pools[job->pool.value]);
        json.close_object();
    });
    return lanes;
}

/// Appends the progress that the model reported, if any.
void append_progress(JsonWriter& json, const JobProgress& progress) {
    if (!progress.permille && progress.text.empty()) return;
    json.key("progress"), json.open_object();
    json.key("fraction");
    if (progress.permille)
        json.thousandths(*progress.permille);
    else
        json.value(nullptr);
    json.text_or_null("text", progress.text);
    json.close_object();
}

/// Appends a live job. Returns false if it has ended meanwhile. Empty `stacks` are left out.
bool append_live(JsonWriter& json, const OwnRouteDeps& deps, const JobRecord& record,
                 std::string_view stacks = {}) {
    const auto job = deps.engine.find(record.job, deps.clock.now());
    if (!job) return false;
    json.open_object();
    json.member("state", name_of_state(job->state));
    json.member("id", record.id.view());
    json.member("pool", deps.config.pools[job->pool.value].name);
    json.key("lane");
    job->state == JobState::running ? json.value(job->lane.value) : json.value(nullptr);
    json.member("since_s", job->since);
    json.member("attempts", job->attempts);
    json.member("client", record.client.view());
    json.member("method", record.method.view());
    json.member("path", record.path.view());
    const ExchangePtr exchange = deps.exchanges.find(record.job);
    if (exchange != nullptr && job->state == JobState::running)
        append_progress(json, exchange->attempt.progress);
    if (!stacks.empty()) json.member("stacks", stacks);
    json.close_object();
    return true;
}

void append_ended(JsonWriter& json, const JobRecord& record, const Caller& caller,
                  std::string_view stacks = {}) {
    std::string members;
    append_json_members(members, record, caller.is_admin ? Withheld::shown : Withheld::hidden);
    json.open_object();
    json.member("state", "ended");
    json.members(members);
    if (!stacks.empty()) json.member("stacks", stacks);
    json.close_object();
}

/// Returns the worker's stacks, taken while the job ran far longer than usual. They are only for
/// admins, like all output of workers.
std::string stacks_of(const OwnRouteDeps& deps, JobId job) {
    const ExchangePtr exchange = deps.exchanges.find(job);
    return exchange != nullptr && !exchange->attempt.stacks.empty()
               ? exchange->attempt.stacks
               : std::string(deps.recent.stacks_of(job));
}

}  // namespace

std::string status_page(const OwnRouteDeps& deps, const Caller& caller) {
    const Instant now = deps.clock.now();
    const View view = deps.engine.view(now);
    std::string page;
    JsonWriter json(page);
    json.open_object();
    json.member("version", TURNPIKE_VERSION);
    json.member("address", deps.address);
    json.member("uptime_s", now - deps.started);
    json.member("ready", pools_not_ready(deps).empty());
    json.member("shutting_down", view.is_shutting_down);
    if (deps.needs_keys) json.member("needs_keys", deps.needs_keys());
    json.member("bytes_held", view.bytes_held.count);
    json.member("answers_bytes", deps.exchanges.answers().held().count);
    json.key("answers_cut"), append_cuts(json, deps.losses);
    json.key("pools"), json.open_array();
    for (const PoolView& pool : view.pools) append_pool(json, {deps, view, caller}, pool);
    json.close_array();
    json.key("lanes"), json.open_array();
    const std::vector<std::string> jobs = running_jobs(deps, view, caller);
    for (const LaneView& lane : view.lanes)
        append_lane(json, deps, lane, caller, jobs[lane.lane.value]);
    json.close_array();
    if (caller.is_admin && deps.clients != nullptr)
        json.key("clients"), append_clients(json, deps.clients());
    json.close_object();
    return page + "\n";
}

std::string pools_not_ready(const OwnRouteDeps& deps) {
    const View view = deps.engine.view(deps.clock.now());
    if (view.is_shutting_down) return "shutting down\n";
    std::string lacking;
    for (const PoolView& pool : view.pools)
        if (!is_ready(view, pool.pool))
            lacking +=
                fmt::format("no lane of pool {} serves\n", deps.config.pools[pool.pool.value].name);
    return lacking;
}

bool may_see(const Caller& caller, const JobRecord& record) {
    if (caller.is_admin) return true;
    return caller.key != nullptr && caller.key->name == record.key.view() &&
           caller.key->id() == record.key_id;
}

std::string job_page(const OwnRouteDeps& deps, const JobRecord& record, const Caller& caller) {
    std::string page;
    JsonWriter json(page);
    const std::string stacks = caller.is_admin ? stacks_of(deps, record.job) : std::string();
    if (!append_live(json, deps, record, stacks)) append_ended(json, record, caller, stacks);
    return page + "\n";
}

std::string jobs_page(const OwnRouteDeps& deps, const Caller& caller) {
    std::string page;
    JsonWriter json(page);
    std::size_t listed = 0;
    json.open_object();
    json.key("live"), json.open_array();
    deps.for_each_live([&](const JobRecord& record) {
        if (listed < listed_max && may_see(caller, record))
            listed += append_live(json, deps, record) ? 1U : 0U;
    });
    json.close_array();
    json.key("ended"), json.open_array();
    listed = 0;
    for (std::size_t i = 0; i < deps.recent.size() && listed < listed_max; ++i) {
        if (!may_see(caller, deps.recent.newest(i))) continue;
        append_ended(json, deps.recent.newest(i), caller);
        ++listed;
    }
    json.close_array();
    json.close_object();
    return page + "\n";
}

}  // namespace turnpike
