#include "config/units.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <span>

namespace turnpike {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t size;
};

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::array time_units{
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"ms", 1'000'000},
    Unit{"s", second},
    Unit{"min", 60 * second},
    Unit{"m", 60 * second},
    Unit{"h", 3600 * second},
    Unit{"d", 86400 * second},
};
constexpr std::array size_units{
    Unit{"B", 1},
    Unit{"KiB", kibibyte.count},
    Unit{"MiB", mebibyte.count},
    Unit{"GiB", gibibyte.count},
    Unit{"TiB", 1024 * gibibyte.count},
};

enum class Flaw : std::uint8_t { no_number, no_unit, too_large };

std::expected<std::uint64_t, Flaw> take_number(std::string_view& text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc::result_out_of_range) return std::unexpected(Flaw::too_large);
    if (error != std::errc{}) return std::unexpected(Flaw::no_number);
    text = text.substr(static_cast<std::size_t>(end - text.data()));
    return number;
}

struct Thousandths {
    std::uint64_t count = 0;
};

/// Reads ".5" as 500. Accepts at most three digits, so that the product with any unit does not
/// overflow.
std::expected<Thousandths, Flaw> take_fraction(std::string_view& text) {
    if (!text.starts_with('.')) return Thousandths{};
    text.remove_prefix(1);
    const std::size_t before = text.size();
    const auto number = take_number(text);
    if (!number) return std::unexpected(number.error());
    switch (before - text.size()) {
        case 1: return Thousandths{*number * 100};
        case 2: return Thousandths{*number * 10};
        case 3: return Thousandths{*number};
        default: return std::unexpected(Flaw::no_number);
    }
}

std::expected<std::uint64_t, Flaw> size_of(std::string_view unit, std::span<const Unit> units) {
    for (const Unit& known : units)
        if (known.name == unit) return known.size;
    return std::unexpected(Flaw::no_unit);
}

/// Returns the amount in the smallest unit, at most `max`.
std::expected<std::uint64_t, Flaw> parse(std::string_view text, std::span<const Unit> units,
                                         std::uint64_t max) {
    const auto whole = take_number(text);
    if (!whole) return whole;
    const auto fraction = take_fraction(text);
    if (!fraction) return std::unexpected(fraction.error());
    const auto size = size_of(text, units);
    if (!size) return size;
    const std::uint64_t rest = *size * fraction->count / 1000;
    if (*whole > (max - rest) / *size) return std::unexpected(Flaw::too_large);
    return *whole * *size + rest;
}

std::string text_of(std::uint64_t count, std::span<const Unit> units) {
    Unit best = units.front();
    for (const Unit& unit : units)
        if (count != 0 && unit.size > best.size && count % unit.size == 0) best = unit;
    return std::to_string(count / best.size).append(best.name);
}

std::string problem(Flaw flaw, std::string_view what, std::string_view units) {
    switch (flaw) {
        case Flaw::no_number:
            return std::string("is not a ").append(what).append(": ").append(units);
        case Flaw::no_unit: return std::string("needs a unit: ").append(units);
        case Flaw::too_large: return "is too large";
    }
    return {};
}

constexpr std::string_view duration_examples = R"("500ms", "30s", "10min" or "10m", "1h", "30d")";
constexpr std::string_view size_examples = R"("100B", "512KiB", "64MiB", "1GiB", "1TiB")";

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::expected<Duration, std::string> parse_duration(std::string_view text) {
    const auto count = parse(text, time_units, std::numeric_limits<Duration::rep>::max());
    if (!count) return std::unexpected(problem(count.error(), "duration", duration_examples));
    return Duration{static_cast<Duration::rep>(*count)};
}

std::expected<Bytes, std::string> parse_bytes(std::string_view text) {
    const std::string with_unit = std::string(text).append(is_number(text) ? "B" : "");
    const auto count = parse(with_unit, size_units, std::numeric_limits<std::uint64_t>::max());
    if (!count) return std::unexpected(problem(count.error(), "size", size_examples));
    return Bytes{*count};
}

std::string text_of(Duration duration) {
    if (duration == Duration::zero()) return "0s";
    return text_of(static_cast<std::uint64_t>(duration.count()), time_units);
}

std::string text_of(Bytes bytes) { return text_of(bytes.count, size_units); }

}  // namespace turnpike
