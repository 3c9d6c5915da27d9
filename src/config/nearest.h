// "Did you mean": the known word that takes the fewest slips of the keyboard.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace turnpike {

/// Letters to put in, take out, change, or swap with their neighbour.
[[nodiscard]] std::size_t edit_distance(std::string_view, std::string_view);

/// "": none is near.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> known);

}  // namespace turnpike
