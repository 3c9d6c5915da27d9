// Turns texts and numbers of a model into what the protocol allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "turnpike/worker.h"

namespace turnpike::inside {

/// Returns valid UTF-8 of at most `most` bytes. Invalid bytes become U+FFFD.
std::string bounded(std::string_view text, std::size_t most);

/// Decodes "a%20b" to "a b". A % without two digits stays.
std::string percent_decoded(std::string_view text);

/// Returns 0 … 1000, or permille_unknown.
std::uint16_t permille_of(std::optional<double> fraction);

/// Returns the header lines of an answer. Throws std::invalid_argument if the gate would refuse
/// them.
std::string fields_of(const std::string& content_type, const std::vector<Header>& headers);

/// Returns the status. Throws std::invalid_argument if it is not 200 … 599.
std::uint16_t status_of(int status);

}  // namespace turnpike::inside
