// For "did you mean": finds the known word with the smallest edit distance.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace turnpike {

/// Returns how many letters must be inserted, removed, changed or swapped with their neighbour to
/// turn one word into the other.
[[nodiscard]] std::size_t edit_distance(std::string_view, std::string_view);

/// Returns the known word that is most similar, or "" if none is similar.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> known);

}  // namespace turnpike
