// Parses and prints durations and sizes as people write them: "30s", "64MiB". An error message is
// the second half of a sentence, and shows what is allowed.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/time.h"

namespace turnpike {

/// Parses "500ms", "1.5s", "10min" or "10m", "1h", "30d". Refuses a number without a unit and a
/// negative number.
[[nodiscard]] std::expected<Duration, std::string> parse_duration(std::string_view);

/// Parses "100B", "512KiB", "64MiB", "1.5GiB", "1TiB", or a number of bytes.
[[nodiscard]] std::expected<Bytes, std::string> parse_bytes(std::string_view);

/// Returns the amount in the largest unit that is exact. The parsers above accept the result.
[[nodiscard]] std::string text_of(Duration);
[[nodiscard]] std::string text_of(Bytes);

}  // namespace turnpike
