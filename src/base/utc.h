// Writes dates and times as text, from nanoseconds since 1970 in UTC. The range is 1677-09-22 to
// 2262-04-11. Uses no locale and no time zone database, and allocates nothing but the string.
#pragma once

#include <cstdint>
#include <string>

namespace turnpike {

/// Appends a time like 2026-11-15T10:00:00.123Z.
void append_utc(std::string& out, std::int64_t unix_ns);

/// Appends a time like 10:00:00.123.
void append_time_of_day(std::string& out, std::int64_t unix_ns);

}  // namespace turnpike
