// Whatever a model says, as the protocol wants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "turnpike/worker.h"

namespace turnpike::inside {

/// UTF-8 (what is none becomes U+FFFD) of at most `most` bytes.
std::string bounded(std::string_view text, std::size_t most);

/// "a%20b" → "a b"; a % without two digits stays.
std::string percent_decoded(std::string_view text);

/// 0 … 1000, or unknown.
std::uint16_t permille_of(std::optional<double> fraction);

/// Header lines of an answer. Throws std::invalid_argument if they could not be sent.
std::string fields_of(const std::string& content_type, const std::vector<Header>& headers);

/// Throws std::invalid_argument unless it is 200 … 599.
std::uint16_t status_of(int status);

}  // namespace turnpike::inside
