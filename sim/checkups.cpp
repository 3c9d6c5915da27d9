// How workers answer probes and proofs.
#include <algorithm>

#include "sim/workers.h"

namespace turnpike::sim {

namespace {

constexpr std::uint32_t right_group = 0;

}  // namespace

void Workers::carry_out(const ProbeWorker& action) {
    const Worker* worker = find_living(action.worker);
    if (worker == nullptr) return;
    Random luck = stage_.random(Topic::probe, worker->key, action.probe);
    ProbeEnded ended{.worker = action.worker, .probe = action.probe};
    Duration soon = between(luck, 0ms, 30ms);
    if (is_cursed(*worker, CurseKind::gate_is_short, action.probe)) {
        ended.verdict = ProbeVerdict::not_sent;
    } else if (is_cursed(*worker, CurseKind::probe_refused, action.probe)) {
        ended.verdict = ProbeVerdict::refused;
    } else if (is_cursed(*worker, CurseKind::link_silent, action.probe)) {
        if (luck.chance(50)) return;  // the probe never ends
        ended.verdict = ProbeVerdict::silent;
        soon = between(luck, 100ms, 2s);
    } else if (is_blocked(*worker) && luck.chance(30)) {
        ended.verdict = ProbeVerdict::silent;  // the shell gives up
        soon = between(luck, 100ms, 2s);
    } else if (!worker->aboard.empty() && luck.chance(30)) {
        soon = between(luck, 1s, 10s);  // too busy to answer soon
    }
    stage_.after(soon, worker->key, [this, ended] { answer_probe(ended); });
}

void Workers::answer_probe(const ProbeEnded& ended) {
    Worker* worker = find_living(ended.worker);
    if (worker == nullptr) return;
    if (ended.verdict != ProbeVerdict::answered || !is_blocked(*worker)) return stage_.tell(ended);
    worker->held.emplace_back([this, ended] { answer_probe(ended); });
}

void Workers::carry_out(const ProveWorker& action) {
    const Worker* worker = find_living(action.worker);
    if (worker == nullptr) return;
    if (is_cursed(*worker, CurseKind::proof_silent, action.proof)) return;
    Random luck = stage_.random(Topic::proof, worker->key, action.proof);
    const Duration longest = stage_.plan().settings_of(worker->lane).proof_timeout * 4 / 5;
    const Duration takes = std::min(between(luck, 1ms, 400ms), longest);
    Duration sent_after{};
    if (is_cursed(*worker, CurseKind::gate_is_short, action.proof)) {
        const ProofEnded not_sent{
            .worker = action.worker, .proof = action.proof, .verdict = ProofVerdict::not_sent};
        sent_after = between(luck, 1ms, longest);
        stage_.after(sent_after, worker->key, [this, not_sent] { stage_.tell(not_sent); });
    }
    stage_.after(sent_after + takes, worker->key,
                 [this, id = action.worker, proof = action.proof] { answer_proof(id, proof); });
}

void Workers::answer_proof(WorkerId id, std::uint32_t proof) {
    Worker* worker = find_living(id);
    if (worker == nullptr) return;
    if (!is_blocked(*worker)) return stage_.tell(proof_of(*worker, proof));
    worker->held.emplace_back([this, id, proof] { answer_proof(id, proof); });
}

ProofEnded Workers::proof_of(const Worker& worker, std::uint32_t proof) const {
    ProofEnded ended{.worker = worker.id, .proof = proof};
    const bool is_bad =
        stage_.plan().quality_of(worker.generation) == Quality::wrong_proof && !is_attached(worker);
    const bool is_wrong = is_cursed(worker, CurseKind::proof_wrong, proof);
    if (stage_.plan().settings_of(worker.lane).proof != ProofKind::agree) {
        if (is_bad || is_wrong) ended.verdict = ProofVerdict::failed;
        return ended;
    }
    Random luck = stage_.random(Topic::proof, worker.key, ~std::uint64_t{proof});
    if (is_wrong && luck.chance(50)) {
        ended.verdict = ProofVerdict::failed;  // it gave no answer that could be compared
        return ended;
    }
    ended.verdict = ProofVerdict::grouped;
    ended.group = right_group;
    const bool is_calm = stage_.now() >= stage_.calm_at();
    if (is_wrong || is_cursed(worker, CurseKind::proof_disagrees, proof) || (is_bad && !is_calm))
        ended.group = luck.chance(60) ? 1 : 2 + static_cast<std::uint32_t>(worker.lane.value);
    return ended;
}

}  // namespace turnpike::sim
