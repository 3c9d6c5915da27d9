#include "base/utc.h"

#include <chrono>
#include <cstddef>
#include <string_view>

namespace turnpike {
namespace {

using std::chrono::days;
using std::chrono::floor;
using Clockless = std::chrono::sys_time<std::chrono::nanoseconds>;  // a type, not a clock's reading

void append_padded(std::string& out, std::int64_t value, std::size_t digits) {
    const std::size_t end = out.size() + digits;
    out.resize(end, '0');
    for (std::size_t i = 1; i <= digits; ++i, value /= 10)
        out[end - i] = static_cast<char>('0' + value % 10);
}

void append_time(std::string& out, std::chrono::nanoseconds since_midnight) {
    const std::int64_t ms = floor<std::chrono::milliseconds>(since_midnight).count();
    append_padded(out, ms / 3'600'000, 2);
    out += ':';
    append_padded(out, ms / 60'000 % 60, 2);
    out += ':';
    append_padded(out, ms / 1000 % 60, 2);
    out += '.';
    append_padded(out, ms % 1000, 3);
}

}  // namespace

void append_utc(std::string& out, std::int64_t unix_ns) {
    const Clockless when{std::chrono::nanoseconds{unix_ns}};
    const auto midnight = floor<days>(when);
    const std::chrono::year_month_day date{midnight};
    append_padded(out, int{date.year()}, 4);  // 64 bits of nanoseconds end in 2262
    out += '-';
    append_padded(out, unsigned{date.month()}, 2);
    out += '-';
    append_padded(out, unsigned{date.day()}, 2);
    out += 'T';
    append_time(out, when - midnight);
    out += 'Z';
}

void append_time_of_day(std::string& out, std::int64_t unix_ns) {
    const Clockless when{std::chrono::nanoseconds{unix_ns}};
    append_time(out, when - floor<days>(when));
}

}  // namespace turnpike
