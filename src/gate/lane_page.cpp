#include "gate/lane_page.h"

#include <optional>

#include "gate/model_page.h"
#include "gate/proof_page.h"
#include "telemetry/start_phases.h"

namespace turnpike {

namespace {

void append_count(JsonWriter& json, std::string_view name, const auto& number) {
    json.key(name);
    number ? json.value(*number) : json.value(nullptr);
}

void append_gpu(JsonWriter& json, const GpuFacts& gpu) {
    json.open_object();
    append_count(json, "index", gpu.index);
    json.member("uuid", gpu.uuid);
    json.member("name", gpu.name);
    json.member("memory_total", gpu.memory_total.count);
    append_count(json, "memory_used",
                 gpu.memory_used.transform([](Bytes bytes) { return bytes.count; }));
    json.close_object();
}

/// Appends how long each phase of the start took, in milliseconds. Phases that this kind of worker
/// does not have are left out.
void append_start(JsonWriter& json, const StartTimes& start, const PoolConfig& pool) {
    const auto others = pool.is_native() ? StartPhase::Workers::http : StartPhase::Workers::native;
    json.open_object();
    for (const StartPhase& phase : start_phases) {
        if (phase.workers == others) continue;
        const std::optional<Duration>& time = start.*phase.time;
        json.key(phase.key);
        time ? json.milliseconds(*time) : json.value(nullptr);
    }
    if (pool.is_native()) json.member("warm", start.is_warm);
    json.close_object();
}

/// Appends the facts about the lane's worker. Its output is only for admins: it may be
/// confidential.
void append_worker(JsonWriter& json, const OwnRouteDeps& deps, const LaneView& lane,
                   const Caller& caller) {
    const LaneFacts& about = deps.lanes[lane.lane.value];
    const WorkerFacts& facts = about.now;
    const PoolConfig& pool = deps.config.pools[lane.pool.value];
    json.text_or_null("worker", about.worker);
    append_count(json, "pid", facts.pid == 0 ? std::nullopt : std::optional(facts.pid));
    json.text_or_null("last_exit", facts.last_exit);
    const bool is_of_proof = about.remark.empty() && is_serving(lane.state) && caller.is_admin;
    json.text_or_null("remark", is_of_proof ? facts.proof.remark : about.remark);
    const bool is_troubled = !is_serving(lane.state) && !facts.trouble.is_none();
    json.text_or_null("trouble", !is_troubled      ? ""
                                 : caller.is_admin ? text_of(facts.trouble)
                                                   : facts.trouble.told);
    json.text_or_null("last_line", is_serving(lane.state) || !caller.is_admin ? std::string_view()
                                                                              : facts.last_line);
    json.text_or_null("cause", is_troubled ? name_of(facts.trouble.cause) : "");
    json.key("proof"), append_proof(json, facts.proof, caller);
    json.key("start"), append_start(json, facts.start, pool);
    const bool is_starting = is_coming_up(lane.state) && facts.started_at != never;
    append_count(json, "starting_s",
                 is_starting ? std::optional(deps.clock.now() - facts.started_at) : std::nullopt);
    if (pool.is_native()) append_native(json, facts, lane.state, caller);
}

}  // namespace

void append_lane(JsonWriter& json, const OwnRouteDeps& deps, const LaneView& lane,
                 const Caller& caller, std::string_view jobs) {
    const PoolConfig& pool = deps.config.pools[lane.pool.value];
    json.open_object();
    json.member("lane", lane.lane.value);
    json.member("pool", pool.name);
    json.key("gpus"), json.open_array();
    for (const GpuFacts& gpu : deps.lanes[lane.lane.value].gpus) append_gpu(json, gpu);
    json.close_array();
    json.member("state", name_of(lane.state));
    json.key("generation");
    lane.current.is_none() ? json.value(nullptr) : json.value(lane.generation.value);
    json.member("slots", lane.slots);
    json.member("batch", lane.batch);
    json.member("aboard", lane.aboard);
    json.key("jobs"), json.open_array(), json.raw(jobs), json.close_array();
    json.member("finished", lane.finished);
    json.member("failed", lane.failed);
    json.member("restarts", lane.restarts);
    json.text_or_null("reason", lane.reason == Reason::none ? "" : name_of(lane.reason));
    if (lane.next_try > Duration::zero()) json.member("next_try_s", lane.next_try);
    append_worker(json, deps, lane, caller);
    json.close_object();
}

}  // namespace turnpike
