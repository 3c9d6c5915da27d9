#include "supervisor/proof_check.h"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>

namespace turnpike {

namespace json = boost::json;

namespace {

constexpr std::size_t depth_max = 512;

bool is_near(const ProofConfig& rule, double a, double b) {
    if (!std::isfinite(a) || !std::isfinite(b)) return false;
    const double scale = std::max(std::abs(a), std::abs(b));
    return std::abs(a - b) <= std::max(rule.tolerance_absolute, rule.tolerance_relative * scale);
}

/// Whole numbers stay whole: above 2^53 different ones would become the same double.
bool is_same_number(const ProofConfig& rule, const json::value& a, const json::value& b) {
    const bool is_exact = rule.tolerance_absolute == 0 && rule.tolerance_relative == 0;
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

}  // namespace

bool is_same_answer(const ProofConfig& rule, std::string_view a, std::string_view b) {
    if (rule.compare == Compare::exact) return a == b;
    const auto left = parsed(a);
    const auto right = parsed(b);
    return left && right && is_same(rule, *left, *right);
}

std::optional<std::string> objection_to(const ProofConfig& rule) {
    if (rule.compare == Compare::exact || rule.expected.empty() || parsed(rule.expected))
        return std::nullopt;
    return "is not valid JSON";
}

std::uint32_t AnswerGroups::group_of(const ProofConfig& rule, const std::string& answer) {
    std::uint32_t group = 0;
    for (const std::string& first : firsts_) {
        if (first == answer || is_same_answer(rule, first, answer)) return group;
        ++group;
    }
    if (firsts_.size() < groups_max) firsts_.push_back(answer);
    return group;
}

}  // namespace turnpike
