// Points of the calendar as text, from nanoseconds since 1970 in UTC (1677-09-22 is the first day
// they reach, 2262-04-11 the last). No locale, no time zone database, no allocation beyond the
// string's own.
#pragma once

#include <cstdint>
#include <string>

namespace turnpike {

/// 2026-11-15T10:00:00.123Z
void append_utc(std::string& out, std::int64_t unix_ns);

/// 10:00:00.123
void append_time_of_day(std::string& out, std::int64_t unix_ns);

}  // namespace turnpike
