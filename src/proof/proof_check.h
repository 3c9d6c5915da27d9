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

/// Returns what is wrong with the rule's `expected` answer: it is not JSON, but the rule asks for
/// JSON. Nullopt if nothing is wrong.
[[nodiscard]] std::optional<std::string> objection_to(const ProofConfig& rule);

/// How a lane's answer differs from the most frequent one.
struct Opinion {
    std::size_t lane = 0;
    std::string oddity;  // "answers .digit = 1; lanes 0, 1, 3 answer 7"; empty if no difference
    friend bool operator==(const Opinion&, const Opinion&) = default;
};

/// The result of judging an answer to a proof.
struct Judgement {
    ProofVerdict verdict = ProofVerdict::passed;
    std::uint32_t group = 0;  // valid if the verdict is `grouped`
    ProofBy by = ProofBy::pool;
    std::string trouble;  // if `failed`: the first difference, or why the answer can't be judged
    std::string said;     // if there was no answer to judge: the model's own words; may be empty
    std::string remark;   // for people, although the proof passed
    std::vector<Opinion> opinions;  // if `grouped`: of all lanes that have answered
    bool has_majority = false;      // if `grouped`: strictly more than half agree
    bool has_judged = true;         // false if there was no complete answer to compare
};

/// Returns "lane 2" or "lanes 0, 1, 3".
[[nodiscard]] std::string lanes_text(const std::vector<std::size_t>& lanes);

/// The different answers that the lanes of one generation gave, in the order in which they came.
class AnswerGroups {
public:
    static constexpr std::size_t groups_max = 256;

    /// Returns the group whose first answer equals this one, or a new group if there is none.
    std::uint32_t group_of(const ProofConfig& rule, const std::string& answer);

    /// Does the same as group_of(), and remembers the group of this lane.
    std::uint32_t add(const ProofConfig& rule, std::size_t lane, const std::string& answer);
    /// Compares each lane that answered with the largest group. If several groups are largest, the
    /// oldest of them counts.
    [[nodiscard]] std::vector<Opinion> opinions(const ProofConfig& rule) const;
    [[nodiscard]] bool has_majority() const;
    /// Returns the lanes of each group, the largest group first.
    [[nodiscard]] std::vector<std::vector<std::size_t>> lanes_by_group() const;

private:
    std::vector<std::string> firsts_;
    std::map<std::size_t, std::uint32_t> groups_;  // by lane
};

/// Judges the answer by the pool's own rule. Slow, so it must run on the background thread. Only
/// that thread uses `groups`.
[[nodiscard]] Judgement judge_answer(const PoolConfig& pool, AnswerGroups& groups, std::size_t lane,
                                     const std::string& answer);

}  // namespace turnpike
