// What a proof showed, put where people look: the facts of the lane, and of lanes whose answers differ
// from those of most.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "supervisor/proof_check.h"
#include "telemetry/lane_facts.h"

namespace turnpike {

/// `proof`: the request, the answer and the times. The latest of its lane from now on; a failed one is its trouble, too.
/// `name`: "the proof", "the model's example".
void show_proof(std::vector<LaneFacts>& lanes, std::size_t lane, LaneProof proof,
                const Judgement& judgement, std::string_view name);

/// Nobody had to judge: it failed for this reason ("was answered with status 500").
[[nodiscard]] Judgement failed_proof(ProofBy by, std::string why);

}  // namespace turnpike
