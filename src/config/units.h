// Amounts as people write them: "30s", "64MiB". A problem is half a sentence that says what is right.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/time.h"

namespace turnpike {

/// "500ms", "1.5s", "10min" or "10m", "1h", "30d"; a number alone is a mistake. Never negative.
[[nodiscard]] std::expected<Duration, std::string> parse_duration(std::string_view);

/// "100B", "512KiB", "64MiB", "1.5GiB", "1TiB", or a number of bytes.
[[nodiscard]] std::expected<Bytes, std::string> parse_bytes(std::string_view);

/// In the largest unit that is exact, as the parsers take it.
[[nodiscard]] std::string text_of(Duration);
[[nodiscard]] std::string text_of(Bytes);

}  // namespace turnpike
