// Is this the right answer? By the pool's own rule: a known one, or that of most lanes.
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

/// Why `expected` can't be used: not JSON where JSON is asked for. Nothing: it can.
[[nodiscard]] std::optional<std::string> objection_to(const ProofConfig& rule);

/// How a lane's answer differs from the most frequent one.
struct Opinion {
    std::size_t lane = 0;
    std::string oddity;  // "answers .digit = 1; lanes 0, 1, 3 answer 7"; empty: it does not
    friend bool operator==(const Opinion&, const Opinion&) = default;
};

/// What an answer to a proof shows.
struct Judgement {
    ProofVerdict verdict = ProofVerdict::passed;
    std::uint32_t group = 0;  // with `grouped`
    ProofBy by = ProofBy::pool;
    std::string trouble;            // with `failed`: where it differs first, or why nobody can tell
    std::string remark;             // although it passed
    std::vector<Opinion> opinions;  // with `grouped`: of all lanes so far
    bool has_majority = false;      // with `grouped`: strictly more than half agree
    bool has_judged = true;         // there was a whole answer to look at
};

/// "lane 2", "lanes 0, 1, 3"
[[nodiscard]] std::string lanes_text(const std::vector<std::size_t>& lanes);

/// The different answers that the lanes of one generation gave, in the order in which they came.
class AnswerGroups {
public:
    static constexpr std::size_t groups_max = 256;

    /// The group whose first answer this one equals; a new one if there is none.
    std::uint32_t group_of(const ProofConfig& rule, const std::string& answer);

    /// The same, and it is the lane's latest.
    std::uint32_t add(const ProofConfig& rule, std::size_t lane, const std::string& answer);
    /// Of each lane that answered, compared with the largest group, or the oldest of those.
    [[nodiscard]] std::vector<Opinion> opinions(const ProofConfig& rule) const;
    [[nodiscard]] bool has_majority() const;
    /// Lanes by their groups, the largest first.
    [[nodiscard]] std::vector<std::vector<std::size_t>> lanes_by_group() const;

private:
    std::vector<std::string> firsts_;
    std::map<std::size_t, std::uint32_t> groups_;  // of lanes
};

/// By the pool's own rule. Slow: for the background thread, the only one that touches `groups`.
[[nodiscard]] Judgement judge_answer(const PoolConfig& pool, AnswerGroups& groups, std::size_t lane,
                                     const std::string& answer);

}  // namespace turnpike
