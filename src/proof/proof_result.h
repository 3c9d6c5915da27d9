// What a proof showed, put where people look: the facts of the lane, and of lanes whose answers differ
// from those of most.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proof/proof_check.h"
#include "telemetry/lane_facts.h"

namespace turnpike {

/// Whose proof it was, and what people call it: "the proof", "the model's example".
struct ProofOf {
    LaneId lane;
    WorkerId worker;
    std::string_view name;
};

/// `proof`: the request, the answer and the times. The latest of its worker from now on; a failed one is its
/// trouble, too.
void show_proof(std::vector<LaneFacts>& lanes, const ProofOf& of, LaneProof proof,
                const Judgement& judgement);

/// Nobody had to judge: it failed for this reason ("was answered with status 500").
[[nodiscard]] Judgement failed_proof(ProofBy by, std::string why);

}  // namespace turnpike
