#include "supervisor/proof_check.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
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

std::string cut(std::string_view text) {
    constexpr std::size_t shown_max = 80;
    return fmt::format("{}{}", text.substr(0, shown_max), text.size() > shown_max ? "…" : "");
}

std::string first_difference(const ProofConfig& rule, const json::value& expected,
                             const json::value& got, const std::string& path);

std::string difference_of_objects(const ProofConfig& rule, const json::object& expected,
                                  const json::object& got, const std::string& path) {
    for (const auto& member : expected) {
        const std::string inner = fmt::format("{}.{}", path, std::string_view(member.key()));
        const json::value* other = got.if_contains(member.key());
        if (other == nullptr) return inner + " is missing";
        if (auto text = first_difference(rule, member.value(), *other, inner); !text.empty())
            return text;
    }
    for (const auto& member : got)
        if (!expected.contains(member.key()))
            return fmt::format("{}.{} is there, and was not expected", path,
                               std::string_view(member.key()));
    return "";
}

std::string difference_of_arrays(const ProofConfig& rule, const json::array& expected,
                                 const json::array& got, const std::string& path) {
    if (expected.size() != got.size())
        return fmt::format("{}: {} elements, not {}", path, got.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        if (auto text = first_difference(rule, expected[i], got[i], fmt::format("{}[{}]", path, i));
            !text.empty())
            return text;
    return "";
}

std::string first_difference(const ProofConfig& rule, const json::value& expected,
                             const json::value& got, const std::string& path) {
    if (is_same(rule, expected, got)) return "";
    if (expected.is_object() && got.is_object())
        return difference_of_objects(rule, expected.get_object(), got.get_object(), path);
    if (expected.is_array() && got.is_array())
        return difference_of_arrays(rule, expected.get_array(), got.get_array(), path);
    return fmt::format("{}{}{}, not {}", path, path.empty() ? "" : ": ", cut(json::serialize(got)),
                       cut(json::serialize(expected)));
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

std::string difference(const ProofConfig& rule, std::string_view expected, std::string_view got) {
    if (rule.compare == Compare::exact)
        return fmt::format("\"{}\", not \"{}\"", cut(got), cut(expected));
    const auto right = parsed(expected);
    const auto answer = parsed(got);
    if (!answer) return fmt::format("\"{}\" is not JSON", cut(got));
    return right ? first_difference(rule, *right, *answer, "") : "";
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

Judgement judge_answer(const PoolConfig& pool, AnswerGroups& groups, const std::string& answer) {
    const ProofConfig& rule = pool.proof;
    if (pool.settings.proof == ProofKind::agree)
        return {.verdict = ProofVerdict::grouped, .group = groups.group_of(rule, answer)};
    if (is_same_answer(rule, rule.expected, answer)) return {};
    return {.verdict = ProofVerdict::failed, .difference = difference(rule, rule.expected, answer)};
}

}  // namespace turnpike
