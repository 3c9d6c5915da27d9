#include "proof/answer_compare.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/utf8.h"

namespace turnpike {

namespace json = boost::json;

namespace {

constexpr std::size_t depth_max = 512;
constexpr std::size_t shown_max = 80;

// ── equality ─────────────────────────────────────────────────────────────────────────────────────

bool is_near(const ProofConfig& rule, double a, double b) {
    if (!std::isfinite(a) || !std::isfinite(b)) return false;
    const double scale = std::max(std::abs(a), std::abs(b));
    return std::abs(a - b) <= std::max(rule.tolerance_absolute, rule.tolerance_relative * scale);
}

/// Compares integers as integers, because different ones above 2^53 would become the same double.
bool is_same_number(const ProofConfig& rule, const json::value& a, const json::value& b) {
    const bool is_exact =
        rule.integers_exact || (rule.tolerance_absolute == 0 && rule.tolerance_relative == 0);
    if (is_exact && !a.is_double() && !b.is_double()) return a == b;
    return is_near(rule, a.to_number<double>(), b.to_number<double>());
}

bool is_same(const ProofConfig& rule, const json::value& a, const json::value& b);

bool is_same_object(const ProofConfig& rule, const json::object& a, const json::object& b) {
    return a.size() == b.size() && std::ranges::all_of(a, [&](const auto& member) {
               const json::value* other = b.if_contains(member.key());
               return other != nullptr && is_same(rule, member.value(), *other);
           });
}

bool is_same(const ProofConfig& rule, const json::value& a, const json::value& b) {
    if (a.is_number() && b.is_number()) return is_same_number(rule, a, b);
    if (a.kind() != b.kind()) return false;
    if (a.is_object()) return is_same_object(rule, a.get_object(), b.get_object());
    if (!a.is_array()) return a == b;
    const json::array& left = a.get_array();
    const json::array& right = b.get_array();
    return std::ranges::equal(left, right, [&](const json::value& one, const json::value& other) {
        return is_same(rule, one, other);
    });
}

std::optional<json::value> parsed(std::string_view text) {
    json::error_code error;
    const json::parse_options options{.max_depth = depth_max};
    json::value value =
        json::parse(json::string_view(text.data(), text.size()), error, {}, options);
    if (error) return std::nullopt;
    return value;
}

// ── the first difference of JSON ─────────────────────────────────────────────────────────────────

std::string cut(std::string_view text) {
    if (text.size() <= shown_max) return std::string(text);
    std::size_t end = shown_max;  // must not be in the middle of a character
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    return fmt::format("{}…", text.substr(0, end));
}

/// Writes numbers as people do: 0.12, not 1.2E-1.
std::string shown(const json::value& value) {
    return value.is_double() ? fmt::format("{}", value.get_double()) : cut(json::serialize(value));
}

/// Returns ".name", or ["a name"] if the short form could be misread.
std::string step_to(std::string_view key) {
    const bool is_plain = !key.empty() && std::ranges::all_of(key, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '_' || c == '-';
    });
    if (is_plain) return fmt::format(".{}", key);
    return fmt::format("[{}]", cut(json::serialize(json::string(key))));
}

std::string elements(std::size_t count) {
    return fmt::format("{} element{}", count, count == 1 ? "" : "s");
}

std::optional<Difference> difference_of(const ProofConfig& rule, const json::value& here,
                                        const json::value& there, const std::string& path);

std::optional<Difference> difference_of_objects(const ProofConfig& rule, const json::object& here,
                                                const json::object& there,
                                                const std::string& path) {
    for (const auto& member : there) {
        const std::string inner = path + step_to(member.key());
        const json::value* other = here.if_contains(member.key());
        if (other == nullptr) return Difference{inner, "nothing", shown(member.value())};
        if (auto found = difference_of(rule, *other, member.value(), inner)) return found;
    }
    for (const auto& member : here)
        if (!there.contains(member.key()))
            return Difference{path + step_to(member.key()), shown(member.value()), "nothing"};
    return std::nullopt;
}

/// Looks for a different element first, since that says more than a different length.
std::optional<Difference> difference_of_arrays(const ProofConfig& rule, const json::array& here,
                                               const json::array& there, const std::string& path) {
    for (std::size_t i = 0; i < std::min(here.size(), there.size()); ++i)
        if (auto found =
                difference_of(rule, here[i], there[i], path + '[' + std::to_string(i) + ']'))
            return found;
    return Difference{path, elements(here.size()), elements(there.size())};
}

std::optional<Difference> difference_of(const ProofConfig& rule, const json::value& here,
                                        const json::value& there, const std::string& path) {
    if (is_same(rule, here, there)) return std::nullopt;
    if (here.is_object() && there.is_object())
        return difference_of_objects(rule, here.get_object(), there.get_object(), path);
    if (here.is_array() && there.is_array())
        return difference_of_arrays(rule, here.get_array(), there.get_array(), path);
    return Difference{path, shown(here), shown(there)};
}

// ── the first difference of bytes ────────────────────────────────────────────────────────────────

/// Returns the bytes from this offset on, as text if both answers are text.
std::string excerpt(std::string_view bytes, std::size_t at, bool is_text) {
    constexpr std::size_t text_max = 24;
    constexpr std::size_t bytes_max = 8;
    if (at >= bytes.size()) return "the end";
    if (is_text) {
        std::size_t end = std::min(bytes.size(), at + text_max);
        while (end < bytes.size() && (static_cast<unsigned char>(bytes[end]) & 0xC0U) == 0x80U)
            ++end;
        const std::string quoted = json::serialize(json::string(bytes.substr(at, end - at)));
        return quoted + (end < bytes.size() ? "…" : "");
    }
    std::string shown = "bytes";
    for (const char byte : bytes.substr(at, bytes_max))
        shown += fmt::format(" {:02x}", static_cast<unsigned char>(byte));
    return shown + (bytes.size() - at > bytes_max ? " …" : "");
}

Difference difference_of_bytes(std::string_view here, std::string_view there) {
    std::size_t at =
        static_cast<std::size_t>(std::ranges::mismatch(here, there).in1 - here.begin());
    const bool is_text = is_utf8(here) && is_utf8(there);
    while (is_text && at > 0 && at < here.size() &&
           (static_cast<unsigned char>(here[at]) & 0xC0U) == 0x80U)
        --at;
    return {fmt::format("byte {}", at), excerpt(here, at, is_text), excerpt(there, at, is_text)};
}

}  // namespace

bool is_json(std::string_view text) { return parsed(text).has_value(); }

bool is_same_answer(const ProofConfig& rule, std::string_view a, std::string_view b) {
    if (rule.compare == Compare::exact) return a == b;
    const auto left = parsed(a);
    const auto right = parsed(b);
    return left && right && is_same(rule, *left, *right);
}

Difference first_difference(const ProofConfig& rule, std::string_view here,
                            std::string_view there) {
    const auto answer = parsed(here);
    const auto right = parsed(there);
    if (answer && right)
        if (auto found = difference_of(rule, *answer, *right, "")) return *std::move(found);
    if (rule.compare == Compare::json && right)
        return {.where = "",
                .here = excerpt(here, 0, is_utf8(here)) + ", which is not JSON,",
                .there = shown(*right)};
    return difference_of_bytes(here, there);
}

std::string text_of(const Difference& difference, std::string_view there) {
    return fmt::format("{}{}{} here, {} {}", difference.where, difference.where.empty() ? "" : ": ",
                       difference.here, difference.there, there);
}

}  // namespace turnpike
