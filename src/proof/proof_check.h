// Judges the answer to a proof by the pool's own rule: a known answer, or the answer of most lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/words.h"
#include "proof/answer_compare.h"
#include "telemetry/lane_proof.h"

namespace turnpike {

/// Returns why `expected` can't be used: it is not JSON, but the rule asks for JSON. nullopt if it
/// can.
[[nodiscard]] std::optional<std::string> objection_to(const ProofConfig& rule);

/// How a lane's answer differs from the most frequent one.
struct Opinion {
    std::size_t lane = 0;
    std::string oddity;  // "answers .digit = 1; lanes 0, 1, 3 answer 7"; empty if it does not
    friend bool operator==(const Opinion&, const Opinion&) = default;
};

/// The result of judging an answer to a proof.
struct Judgement {
    ProofVerdict verdict = ProofVerdict::passed;
    std::uint32_t group = 0;  // with `grouped`
    ProofBy by = ProofBy::pool;
    std::string trouble;  // with `failed`: the first difference, or why it can't be judged
    std::string remark;   // for people, although the proof passed
    std::vector<Opinion> opinions;  // with `grouped`: of all lanes that have answered
    bool has_majority = false;      // with `grouped`: strictly more than half agree
    bool has_judged = true;         // there was a complete answer to compare
};

/// Returns "lane 2" or "lanes 0, 1, 3".
[[nodiscard]] std::string lanes_text(const std::vector<std::size_t>& lanes);

/// The different answers that the lanes of one generation gave, in the order in which they came.
class AnswerGroups {
public:
    static constexpr std::size_t groups_max = 256;

    /// Returns the group whose first answer equals this one, or a new group if there is none.
    std::uint32_t group_of(const ProofConfig& rule, const std::string& answer);

    /// Does the same, and keeps the group as the lane's latest.
    std::uint32_t add(const ProofConfig& rule, std::size_t lane, const std::string& answer);
    /// Compares each lane that answered with the largest group, or with the oldest of the largest
    /// ones.
    [[nodiscard]] std::vector<Opinion> opinions(const ProofConfig& rule) const;
    [[nodiscard]] bool has_majority() const;
    /// Returns the lanes of each group, the largest group first.
    [[nodiscard]] std::vector<std::vector<std::size_t>> lanes_by_group() const;

private:
    std::vector<std::string> firsts_;
    std::map<std::size_t, std::uint32_t> groups_;  // by lane
};

/// Judges by the pool's own rule. Slow, so it must run on the background thread, which alone uses
/// `groups`.
[[nodiscard]] Judgement judge_answer(const PoolConfig& pool, AnswerGroups& groups, std::size_t lane,
                                     const std::string& answer);

}  // namespace turnpike
