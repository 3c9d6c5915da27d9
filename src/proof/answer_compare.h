// Are these two answers the same, and if not, where do they differ first? Exact bytes, or JSON whose
// numbers may differ a little.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"

namespace turnpike {

[[nodiscard]] bool is_json(std::string_view text);

/// Whether two answers count as the same under the proof's rule. What is not JSON equals nothing
/// where JSON is asked for.
[[nodiscard]] bool is_same_answer(const ProofConfig& rule, std::string_view a, std::string_view b);

/// The first place in which two answers differ, for people.
struct Difference {
    std::string where;  // ".scores[3]", "byte 12"; empty: the whole answer
    std::string here;   // "0.12", "nothing"
    std::string there;
};

/// Of answers that are not the same.
[[nodiscard]] Difference first_difference(const ProofConfig& rule, std::string_view here,
                                          std::string_view there);

/// ".scores[3]: 0.12 here, 0.98 expected"
[[nodiscard]] std::string text_of(const Difference& difference,
                                  std::string_view there = "expected");

}  // namespace turnpike
