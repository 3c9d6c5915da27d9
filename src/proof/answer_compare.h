// Compares two answers to a proof, and finds where they first differ: byte by byte, or as JSON
// whose numbers may differ a little.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"

namespace turnpike {

[[nodiscard]] bool is_json(std::string_view text);

/// True if two answers count as the same under the proof's rule. If the rule asks for JSON, an
/// answer that is not JSON equals nothing.
[[nodiscard]] bool is_same_answer(const ProofConfig& rule, std::string_view a, std::string_view b);

/// The first place in which two answers differ, in words for people.
struct Difference {
    std::string where;  // ".scores[3]", "byte 12"; empty if the whole answers differ
    std::string here;   // what is there in the one answer: "0.12", "nothing"
    std::string there;  // the same for the other answer
};

/// Returns the first difference of two answers, which must not be the same.
[[nodiscard]] Difference first_difference(const ProofConfig& rule, std::string_view here,
                                          std::string_view there);

/// Returns ".scores[3]: 0.12 here, 0.98 expected". `there` replaces the word "expected".
[[nodiscard]] std::string text_of(const Difference& difference,
                                  std::string_view there = "expected");

}  // namespace turnpike
