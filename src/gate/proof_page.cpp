#include "gate/proof_page.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/base64.h"
#include "base/utc.h"
#include "base/utf8.h"

namespace turnpike {

namespace {

/// Appends the exact bytes: as text if they are UTF-8, otherwise as base64.
void append_body(JsonWriter& json, const ProofBody& body) {
    json.text_or_null("content_type", body.content_type);
    json.member("size", body.size);
    if (is_utf8(body.bytes))
        json.member("body", body.bytes);
    else
        json.member("body_base64", base64_of(body.bytes));
}

void append_exchange(JsonWriter& json, const LaneProof& proof) {
    json.key("request"), json.open_object();
    json.member("method", proof.request.method);
    json.member("path", proof.request.path);
    append_body(json, proof.request.body);
    json.close_object();
    json.key("answer"), json.open_object();
    json.member("status", proof.answer.status);
    append_body(json, proof.answer.body);
    json.close_object();
}

void append_lane(JsonWriter& json, const OwnRouteDeps& deps, const LaneView& lane) {
    const LaneFacts& facts = deps.lanes[lane.lane.value];
    const LaneProof& proof = facts.now.proof;
    json.open_object();
    json.member("lane", lane.lane.value);
    json.member("state", name_of(lane.state));
    json.member("serves", is_serving(lane.state));
    json.member("count", facts.proofs);
    if (proof.by != ProofBy::nobody) {
        std::string ended;
        append_utc(ended, deps.clock.unix_ns(proof.ended));
        json.member("generation", proof.generation.value);
        json.member("passed", proof.is_passed);
        json.member("by", name_of(proof.by));
        json.text_or_null("trouble", proof.trouble);
        json.text_or_null("remark", proof.remark);
        json.member("ended", ended);
        json.member("took_s", proof.took);
        json.text_or_null("file", proof.file);
        append_exchange(json, proof);
    }
    json.close_object();
}

}  // namespace

void append_proof(JsonWriter& json, const LaneProof& proof, const Caller& caller) {
    if (proof.by == ProofBy::nobody) return json.value(nullptr);
    json.open_object();
    json.member("passed", proof.is_passed);
    json.member("by", name_of(proof.by));
    json.text_or_null("trouble", caller.is_admin ? proof.trouble : "");
    json.close_object();
}

OwnAnswered pool_proof(const OwnRequest& request) {
    const OwnRouteDeps& deps = request.deps;
    const std::vector<PoolConfig>& pools = deps.config.pools;
    const auto found = std::ranges::find(pools, request.name, &PoolConfig::name);
    if (found == pools.end()) return refuse(Problem::no_pool);
    const auto number = static_cast<std::size_t>(found - pools.begin());
    const View view = deps.engine.view(deps.clock.now());
    OwnAnswer answer;
    JsonWriter json(answer.body);
    json.open_object();
    json.member("pool", found->name);
    json.member("model", found->worker.model.text);
    json.member("has_proof", view.pools[number].has_proof);
    json.member("is_configured", found->settings.proof != ProofKind::none);
    json.key("lanes"), json.open_array();
    for (const LaneView& lane : view.lanes)
        if (lane.pool == view.pools[number].pool) append_lane(json, deps, lane);
    json.close_array();
    json.close_object();
    answer.body += '\n';
    return answer;
}

}  // namespace turnpike
