#include "supervisor/proof_result.h"

#include <utility>

#include <fmt/format.h>

namespace turnpike {

Judgement failed_proof(ProofBy by, std::string why) {
    return {.verdict = ProofVerdict::failed,
            .by = by,
            .trouble = std::move(why),
            .remark = {},
            .opinions = {},
            .has_judged = false};
}

void show_proof(std::vector<LaneFacts>& lanes, std::size_t lane, LaneProof proof,
                const Judgement& judgement, std::string_view name) {
    LaneFacts& facts = lanes[lane];
    proof.count = facts.proof.count + 1;
    proof.by = judgement.by;
    proof.is_passed = judgement.verdict != ProofVerdict::failed;
    proof.remark = judgement.remark;
    if (!proof.is_passed) {
        proof.trouble = judgement.has_judged
                            ? fmt::format("wrong answer to {}: {}", name, judgement.trouble)
                            : fmt::format("{} {}", name, judgement.trouble);
        facts.trouble = proof.trouble;
    }
    facts.proof = std::move(proof);
    for (const Opinion& opinion : judgement.opinions) {
        LaneFacts& other = lanes[opinion.lane];
        const std::string text = opinion.oddity.empty() ? "" : "it " + opinion.oddity;
        other.proof.remark = text;
        if (!judgement.has_majority || text.empty()) continue;
        other.proof.is_passed = false;
        other.proof.trouble = other.trouble = text;  // the engine takes it out
    }
}

}  // namespace turnpike
