#include "proof/proof_result.h"

#include <utility>

#include <fmt/format.h>

namespace turnpike {

Judgement failed_proof(ProofBy by, std::string why, std::string said) {
    return {.verdict = ProofVerdict::failed,
            .by = by,
            .trouble = std::move(why),
            .said = std::move(said),
            .remark = {},
            .opinions = {},
            .has_judged = false};
}

namespace {

/// Returns the worker on this lane that is of that generation and was proved by agreement. Returns
/// nullptr if there is none any more.
WorkerFacts* voter_on(LaneFacts& lane, Generation generation) {
    for (WorkerFacts* worker : {&lane.now, &lane.next})
        if (worker->proof.by == ProofBy::agreement && worker->proof.generation == generation)
            return worker;
    return nullptr;
}

/// Shows a worker's difference from the majority as its trouble, since the engine will take its
/// lane out.
void show_opinion(WorkerFacts& voter, const Opinion& opinion, bool has_majority) {
    const std::string text = opinion.oddity.empty() ? "" : "it " + opinion.oddity;
    voter.proof.remark = text;
    if (!has_majority || text.empty()) return;
    voter.proof.is_passed = false;
    voter.proof.trouble = text;
    voter.trouble = {.cause = LaneCause::disagrees,
                     .told = "its answer differs from the majority's",
                     .said = text};
}

/// Returns the trouble of a failed proof. Answers and differences are the worker's words.
LaneTrouble trouble_of(const ProofOf& of, const Judgement& judgement) {
    if (judgement.has_judged)
        return {.cause = LaneCause::wrong_answer,
                .told = fmt::format("wrong answer to {}", of.name),
                .said = judgement.trouble};
    return {.cause = LaneCause::proof_failed,
            .told = fmt::format("{} {}", of.name, judgement.trouble),
            .said = judgement.said};
}

}  // namespace

void show_proof(std::vector<LaneFacts>& lanes, const ProofOf& of, LaneProof proof,
                const Judgement& judgement) {
    LaneFacts& lane = lanes[of.lane.value];
    WorkerFacts& facts = lane.of(of.worker);
    const Generation generation = proof.generation;
    ++lane.proofs;
    proof.by = judgement.by;
    proof.is_passed = judgement.verdict != ProofVerdict::failed;
    proof.remark = judgement.remark;
    if (!proof.is_passed) {
        facts.trouble = trouble_of(of, judgement);
        proof.trouble = text_of(facts.trouble);
    }
    facts.proof = std::move(proof);
    for (const Opinion& opinion : judgement.opinions)
        if (WorkerFacts* voter = voter_on(lanes[opinion.lane], generation))
            show_opinion(*voter, opinion, judgement.has_majority);
}

}  // namespace turnpike
