#include "config/assign.h"

#include <expected>
#include <utility>

#include "config/text.h"

namespace turnpike {
namespace {

using Flaws = std::vector<Flaw>;

Flaws one(std::string problem) { return {Flaw{.problem = std::move(problem), .within = {}}}; }

Flaws too_many(std::size_t count, std::size_t max) {
    return one("has " + std::to_string(count) + " items; at most " + std::to_string(max) +
               " are allowed");
}

/// Returns the GPU's name in a list: an index, the beginning of a UUID, or the name of a MIG
/// device. Returns an error message if the value is none of these.
std::expected<std::string, std::string> gpu_name(const Node& node) {
    const auto* number = std::get_if<std::int64_t>(&node.value);
    const auto* text = std::get_if<std::string>(&node.value);
    if (number == nullptr && text == nullptr)
        return std::unexpected("must be an index or a UUID, not " + std::string(kind_of(node)));
    std::string name = number != nullptr ? std::to_string(*number) : *text;
    constexpr std::string_view digits = "0123456789";
    constexpr std::string_view letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-/";
    const bool is_index =
        !name.empty() && name.size() <= 4 && name.find_first_not_of(digits) == std::string::npos;
    const bool is_long = (name.starts_with("GPU-") || name.starts_with("MIG-")) &&
                         name.size() <= 128 && name.find_first_not_of(letters) == std::string::npos;
    if (is_index) return std::to_string(std::stoi(name));  // "00" is 0
    if (is_long) return name;
    return std::unexpected(
        in_quotes(name) + R"( is not a GPU: use an index such as 0, a UUID such as "GPU-8f6a…" or )"
                          R"(the name of a MIG device)");
}

Flaws wrong_kind(std::string_view wanted, const Node& node) {
    return one("must be " + std::string(wanted) + ", not " + std::string(kind_of(node)));
}

struct Assign {
    const Key& key;
    const Node& node;
    Draft& draft;

    Flaws operator()(const TimeKey& time) const {
        const auto* text = std::get_if<std::string>(&node.value);
        if (std::holds_alternative<std::int64_t>(node.value) ||
            std::holds_alternative<double>(node.value))
            return one(R"(needs a unit: "500ms", "30s", "10min" or "10m", "1h", "30d")");
        if (text == nullptr) return wrong_kind(R"(a duration such as "30s")", node);
        const auto parsed = parse_duration(*text);
        if (!parsed) return one(in_quotes(*text) + ' ' + parsed.error());
        return bounded(time, *parsed);
    }

    Flaws operator()(const SizeKey& size) const {
        if (const auto* count = std::get_if<std::int64_t>(&node.value)) {
            if (*count < 0) return one("must be " + bounds_of(key));
            return bounded(size, Bytes{static_cast<std::uint64_t>(*count)});
        }
        const auto* text = std::get_if<std::string>(&node.value);
        if (text == nullptr) return wrong_kind(R"(a size such as "64MiB")", node);
        const auto parsed = parse_bytes(*text);
        if (!parsed) return one(in_quotes(*text) + ' ' + parsed.error());
        return bounded(size, *parsed);
    }

    Flaws operator()(const CountKey& count) const {
        const auto* number = std::get_if<std::int64_t>(&node.value);
        if (number == nullptr) return wrong_kind("an integer", node);
        if (!std::in_range<std::uint32_t>(*number)) return one("must be " + bounds_of(key));
        return bounded(count, static_cast<std::uint32_t>(*number));
    }

    Flaws operator()(const NumberKey& number) const {
        const auto* integer = std::get_if<std::int64_t>(&node.value);
        const auto* floating = std::get_if<double>(&node.value);
        if (integer == nullptr && floating == nullptr) return wrong_kind("a number", node);
        return bounded(number, integer != nullptr ? static_cast<double>(*integer) : *floating);
    }

    Flaws operator()(const FlagKey& flag) const {
        const auto* value = std::get_if<bool>(&node.value);
        if (value == nullptr) return wrong_kind("true or false", node);
        flag.at(draft) = *value;
        return {};
    }

    Flaws operator()(const TextKey& text) const {
        const auto* value = std::get_if<std::string>(&node.value);
        if (value == nullptr) return wrong_kind("a string", node);
        const auto taken = text.take(draft, *value);
        return taken ? Flaws{} : one(in_quotes(*value) + ' ' + taken.error());
    }

    Flaws operator()(const ListKey& list) const {
        const auto* items = std::get_if<List>(&node.value);
        if (items == nullptr) return wrong_kind("a list of strings", node);
        if (items->size() > list.max) return too_many(items->size(), list.max);
        Flaws flaws;
        for (std::size_t i = 0; i < items->size(); ++i)
            for (Flaw& flaw : Assign{key, (*items)[i], draft}(TextKey{list.take, "", ""}))
                flaws.push_back({.problem = std::move(flaw.problem), .within = item_path(i)});
        return flaws;
    }

    Flaws operator()(const GpusKey& gpus) const {
        const auto* items = std::get_if<List>(&node.value);
        if (items != nullptr) return listed(gpus, *items);
        const auto* word = std::get_if<std::string>(&node.value);
        const bool is_all = word != nullptr && *word == "all";
        if (!is_all && (word == nullptr || *word != "none"))
            return one("must be " + bounds_of(key));
        gpus.at(draft) = {.kind = is_all ? GpuChoice::Kind::all : GpuChoice::Kind::none};
        return {};
    }

    Flaws listed(const GpusKey& gpus, const List& items) const {
        if (items.empty()) return one(R"(is an empty list; for no GPU write "none")");
        if (items.size() > gpus.max) return too_many(items.size(), gpus.max);
        GpuChoice choice{.kind = GpuChoice::Kind::listed};
        Flaws flaws;
        for (std::size_t i = 0; i < items.size(); ++i) {
            auto name = gpu_name(items[i]);
            if (name)
                choice.listed.push_back(std::move(*name));
            else
                flaws.push_back({.problem = std::move(name.error()), .within = item_path(i)});
        }
        if (flaws.empty()) gpus.at(draft) = std::move(choice);
        return flaws;
    }

    Flaws operator()(const TableKey& table) const {
        const auto* entries = std::get_if<Table>(&node.value);
        if (entries == nullptr) return wrong_kind("a table of strings", node);
        if (entries->size() > table.max) return too_many(entries->size(), table.max);
        Flaws flaws;
        for (const auto& [name, value] : *entries) {
            const auto* text = std::get_if<std::string>(&value.value);
            const auto taken =
                text != nullptr
                    ? table.take(draft, name, *text)
                    : std::unexpected("must be a string, not " + std::string(kind_of(value)));
            if (!taken) flaws.push_back({.problem = taken.error(), .within = entry_path(name)});
        }
        return flaws;
    }

    template <class Kind, class Value>
    Flaws bounded(const Kind& kind, Value value) const {
        if (!(value >= kind.min && value <= kind.max))  // also refuses NaN
            return one("must be " + bounds_of(key));
        kind.at(draft) = value;
        return {};
    }
};

}  // namespace

std::string item_path(std::size_t item) { return '[' + std::to_string(item) + ']'; }

std::string entry_path(const std::string& name) {
    return '.' + (is_bare_key(name) ? name : in_quotes(name));
}

std::vector<Flaw> assign(const Key& key, const Node& node, Draft& draft) {
    return std::visit(Assign{key, node, draft}, key.kind);
}

}  // namespace turnpike
