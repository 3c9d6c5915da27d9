// Is this the right answer? Exact bytes, or JSON whose numbers may differ a little.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "core/words.h"

namespace turnpike {

/// Whether two answers count as the same under the proof's rule. What is not JSON equals nothing.
[[nodiscard]] bool is_same_answer(const ProofConfig& rule, std::string_view a, std::string_view b);

/// Where two different answers differ first, for people: ".scores[2]: 0.5, not 0.25".
[[nodiscard]] std::string difference(const ProofConfig& rule, std::string_view expected,
                                     std::string_view got);

/// Why `expected` can't be used: not JSON where JSON is asked for. Nothing: it can.
[[nodiscard]] std::optional<std::string> objection_to(const ProofConfig& rule);

/// What an answer to a proof shows.
struct Judgement {
    ProofVerdict verdict = ProofVerdict::passed;
    std::uint32_t group = 0;  // with `grouped`
    std::string difference;   // with `failed`
};

/// The different answers that the lanes of one generation gave, in the order in which they came.
class AnswerGroups {
public:
    static constexpr std::size_t groups_max = 256;

    /// The group whose first answer this one equals; a new one if there is none.
    std::uint32_t group_of(const ProofConfig& rule, const std::string& answer);

private:
    std::vector<std::string> firsts_;
};

/// By the pool's own rule. Slow: for the helper thread, the only one that touches `groups`.
[[nodiscard]] Judgement judge_answer(const PoolConfig& pool, AnswerGroups& groups,
                                     const std::string& answer);

}  // namespace turnpike
