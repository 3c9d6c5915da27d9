#include "proof/proof_check.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace turnpike {

std::optional<std::string> objection_to(const ProofConfig& rule) {
    if (rule.compare == Compare::exact || rule.expected.empty() || is_json(rule.expected))
        return std::nullopt;
    return "is not valid JSON";
}

std::string lanes_text(const std::vector<std::size_t>& lanes) {
    return fmt::format("lane{} {}", lanes.size() == 1 ? "" : "s", fmt::join(lanes, ", "));
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

std::uint32_t AnswerGroups::add(const ProofConfig& rule, std::size_t lane,
                                const std::string& answer) {
    return groups_[lane] = group_of(rule, answer);
}

std::vector<std::vector<std::size_t>> AnswerGroups::lanes_by_group() const {
    std::map<std::uint32_t, std::vector<std::size_t>> lanes;
    for (const auto& [lane, group] : groups_) lanes[group].push_back(lane);
    std::vector<std::vector<std::size_t>> sorted;
    for (auto& [group, members] : lanes) sorted.push_back(std::move(members));
    std::ranges::stable_sort(sorted, std::ranges::greater(), &std::vector<std::size_t>::size);
    return sorted;
}

bool AnswerGroups::has_majority() const {
    const auto groups = lanes_by_group();
    return !groups.empty() && 2 * groups.front().size() > groups_.size();
}

std::vector<Opinion> AnswerGroups::opinions(const ProofConfig& rule) const {
    if (groups_.empty()) return {};
    const auto groups = lanes_by_group();
    const std::uint32_t usual = groups_.at(groups.front().front());
    std::vector<Opinion> opinions;
    for (const auto& [lane, group] : groups_) {
        Opinion& opinion = opinions.emplace_back(Opinion{.lane = lane, .oddity = {}});
        if (group == usual || group >= firsts_.size() || usual >= firsts_.size()) continue;
        const Difference found = first_difference(rule, firsts_[group], firsts_[usual]);
        opinion.oddity =
            fmt::format("answers {}{}{}; {} answer{} {}", found.where,
                        found.where.empty() ? "" : " = ", found.here, lanes_text(groups.front()),
                        groups.front().size() == 1 ? "s" : "", found.there);
    }
    return opinions;
}

Judgement judge_answer(const PoolConfig& pool, AnswerGroups& groups, std::size_t lane,
                       const std::string& answer) {
    const ProofConfig& rule = pool.proof;
    if (pool.settings.proof == ProofKind::agree) {
        const std::uint32_t group = groups.add(rule, lane, answer);
        return {.verdict = ProofVerdict::grouped,
                .group = group,
                .by = ProofBy::agreement,
                .trouble = {},
                .remark = {},
                .opinions = groups.opinions(rule),
                .has_majority = groups.has_majority()};
    }
    if (is_same_answer(rule, rule.expected, answer)) return {};
    return {.verdict = ProofVerdict::failed,
            .trouble = text_of(first_difference(rule, answer, rule.expected)),
            .remark = {},
            .opinions = {}};
}

}  // namespace turnpike
