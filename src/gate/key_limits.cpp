#include "gate/key_limits.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "config/units.h"

namespace turnpike {
namespace {

using Problem = std::unexpected<std::string>;
using Taken = std::expected<void, std::string>;

constexpr std::uint32_t count_max = 1'000'000;
constexpr Bytes size_max{16 * 1024 * gibibyte.count};  // as queue.bytes_max

/// Returns the number if the text is one, of digits alone, that lies within the bounds.
std::optional<std::uint32_t> number_in(std::string_view text, std::uint32_t least,
                                       std::uint32_t most) {
    std::uint32_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stop != end || number < least || number > most) return std::nullopt;
    return number;
}

Taken take_jobs_max(KeyLimits& limits, std::string_view text) {
    limits.jobs_max = number_in(text, 1, count_max);
    if (!limits.jobs_max) return Problem("must be a number from 1 to 1000000");
    return {};
}

std::string jobs_max_text(const KeyLimits& limits) {
    return limits.jobs_max ? std::to_string(*limits.jobs_max) : "";
}

Taken take_bytes_max(KeyLimits& limits, std::string_view text) {
    const auto size = parse_bytes(text);
    if (!size) return Problem(size.error());
    if (*size < kibibyte || *size > size_max) return Problem("must be 1KiB to 16TiB");
    limits.bytes_max = *size;
    return {};
}

std::string bytes_max_text(const KeyLimits& limits) {
    return limits.bytes_max ? text_of(*limits.bytes_max) : "";
}

Taken take_rate(KeyLimits& limits, std::string_view text) {
    const std::size_t slash = std::min(text.find('/'), text.size());
    const std::string_view unit = text.substr(slash);
    const auto jobs = number_in(text.substr(0, slash), 1, count_max);
    if (!jobs || !(unit.empty() || unit == "/s" || unit == "/min"))
        return Problem(
            "must be jobs per second or minute, such as 5, 5/s or 90/min (1 to 1000000)");
    limits.rate = Rate{.jobs = *jobs, .per = unit == "/min" ? Duration(1min) : Duration(1s)};
    return {};
}

std::string rate_text(const KeyLimits& limits) { return limits.rate ? text_of(*limits.rate) : ""; }

Taken take_priority_max(KeyLimits& limits, std::string_view text) {
    const auto level = number_in(text, 0, Priority::levels - 1);
    if (!level) return Problem("must be a number from 0 to 9");
    limits.priority_max.level = static_cast<std::uint8_t>(*level);
    return {};
}

std::string priority_max_text(const KeyLimits& limits) {
    return limits.priority_max == Priority{} ? "" : std::to_string(limits.priority_max.level);
}

constexpr std::array rows{
    KeyLimit{"jobs_max", take_jobs_max, jobs_max_text},
    KeyLimit{"bytes_max", take_bytes_max, bytes_max_text},
    KeyLimit{"rate", take_rate, rate_text},
    KeyLimit{"priority_max", take_priority_max, priority_max_text},
};

}  // namespace

std::span<const KeyLimit> key_limits() { return rows; }

const KeyLimit* find_key_limit(std::string_view name) {
    const auto row = std::ranges::find(rows, name, &KeyLimit::name);
    return row == rows.end() ? nullptr : &*row;
}

std::string text_of(const Rate& rate) {
    return std::to_string(rate.jobs) + (rate.per == 1s ? "/s" : "/min");
}

}  // namespace turnpike
