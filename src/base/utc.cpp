#include "base/utc.h"

#include <array>
#include <chrono>
#include <cstddef>

namespace turnpike {
namespace {

using std::chrono::days;
using std::chrono::floor;
using UnixTime = std::chrono::sys_time<std::chrono::nanoseconds>;  // only a type; no clock is read

/// Overwrites `digits` characters, with leading zeros.
void put(char* place, unsigned value, std::size_t digits) {
    for (; digits > 0; --digits, value /= 10)
        place[digits - 1] = static_cast<char>('0' + value % 10);
}

/// Overwrites "00:00:00.000".
void put_time(char* place, std::chrono::nanoseconds since_midnight) {
    const auto ms = static_cast<unsigned>(since_midnight / std::chrono::milliseconds{1});
    put(place, ms / 3'600'000, 2);
    put(place + 3, ms / 60'000 % 60, 2);
    put(place + 6, ms / 1000 % 60, 2);
    put(place + 9, ms % 1000, 3);
}

}  // namespace

void append_utc(std::string& out, std::int64_t unix_ns) {
    const UnixTime when{std::chrono::nanoseconds{unix_ns}};
    const auto midnight = floor<days>(when);
    const std::chrono::year_month_day date{midnight};
    auto text = std::to_array("0000-00-00T00:00:00.000Z");
    put(text.data(), static_cast<unsigned>(int{date.year()}), 4);
    put(text.data() + 5, unsigned{date.month()}, 2);
    put(text.data() + 8, unsigned{date.day()}, 2);
    put_time(text.data() + 11, when - midnight);
    out.append(text.data(), text.size() - 1);  // without the NUL
}

void append_time_of_day(std::string& out, std::int64_t unix_ns) {
    const UnixTime when{std::chrono::nanoseconds{unix_ns}};
    auto text = std::to_array("00:00:00.000");
    put_time(text.data(), when - floor<days>(when));
    out.append(text.data(), text.size() - 1);  // without the NUL
}

}  // namespace turnpike
