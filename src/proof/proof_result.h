// Writes the result of a proof where people look: into the facts of its lane, and of other lanes
// whose answers differ from the majority.
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

/// Makes `proof` (the request, the answer and the times) the worker's latest proof. If it failed,
/// it also becomes the worker's trouble.
void show_proof(std::vector<LaneFacts>& lanes, const ProofOf& of, LaneProof proof,
                const Judgement& judgement);

/// Returns the judgement of a proof that failed before its answer could be compared. `why`
/// continues the proof's name: "was answered with status 500". `said` is what the model said.
[[nodiscard]] Judgement failed_proof(ProofBy by, std::string why, std::string said = {});

}  // namespace turnpike
