// Parses names of runs. An error names the part that it does not understand.
#include "sim/seeds.h"

#include <charconv>

#include <fmt/format.h>

namespace turnpike::sim {

namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number number = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (text.empty() || error != std::errc{} || stopped != end) return std::nullopt;
    return number;
}

/// Returns the part before the first of `marks`. The rest, without the mark, stays in `text`.
std::string_view cut(std::string_view& text, std::string_view marks) {
    const std::size_t at = text.find_first_of(marks);
    const std::string_view part = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
    return part;
}

std::string_view next_word(std::string_view& line) {
    while (!line.empty()) {
        const std::string_view word = cut(line, " \t\r");
        if (!word.empty()) return word;
    }
    return {};
}

std::expected<RunName, std::string> parse_line(std::string_view line) {
    const std::string_view scenario = next_word(line);
    const std::string_view seed_text = next_word(line);
    const std::string_view option = next_word(line);
    RunName name{.scenario = find_scenario(scenario)};
    if (name.scenario == nullptr)
        return std::unexpected(fmt::format("no scenario is named '{}'", scenario));
    const auto seed = parse_number<std::uint64_t>(seed_text);
    if (!seed) return std::unexpected(fmt::format("'{}' is not a seed", seed_text));
    name.seed = *seed;
    if (!next_word(line).empty()) return std::unexpected("too many words");
    if (option.empty()) return name;
    if (!option.starts_with("keep="))
        return std::unexpected(fmt::format("'{}' is not an option; keep=3,17 is", option));
    auto keep = parse_keep(option.substr(5));
    if (!keep) return std::unexpected(keep.error());
    name.keep = std::move(*keep);
    return name;
}

}  // namespace

std::expected<SeedRange, std::string> parse_seeds(std::string_view text) {
    const std::size_t dots = text.find("..");
    const auto first = parse_number<std::uint64_t>(text.substr(0, dots));
    const auto last =
        dots == std::string_view::npos ? first : parse_number<std::uint64_t>(text.substr(dots + 2));
    if (!first || !last)
        return std::unexpected(fmt::format("'{}' is neither a seed nor a range A..B", text));
    if (*first > *last) return std::unexpected(fmt::format("'{}' ends before it begins", text));
    return SeedRange{.first = *first, .last = *last};
}

std::expected<Ids, std::string> parse_keep(std::string_view text) {
    Ids ids;
    if (text.empty()) return ids;
    if (text.ends_with(',')) return std::unexpected("a comma at the end");
    while (!text.empty()) {
        const std::string_view part = cut(text, ",");
        const auto id = parse_number<std::uint32_t>(part);
        if (!id) return std::unexpected(fmt::format("'{}' is not a stimulus", part));
        if (!ids.empty() && *id <= ids.back())
            return std::unexpected(fmt::format("{} is out of order", *id));
        ids.push_back(*id);
    }
    return ids;
}

std::expected<std::vector<RunName>, std::string> parse_regressions(std::string_view text) {
    std::vector<RunName> names;
    for (int number = 1; !text.empty(); ++number) {
        std::string_view line = cut(text, "\n");
        line = line.substr(0, line.find('#'));
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        auto name = parse_line(line);
        if (!name) return std::unexpected(fmt::format("line {}: {}", number, name.error()));
        names.push_back(std::move(*name));
    }
    return names;
}

}  // namespace turnpike::sim
