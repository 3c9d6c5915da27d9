#include "config/assign.h"

#include <utility>

#include "config/text.h"

namespace turnpike {
namespace {

using Flaws = std::vector<Flaw>;

Flaws one(std::string problem) { return {Flaw{.problem = std::move(problem), .item = {}}}; }

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
        if (!parsed) return one(quoted(*text) + ' ' + parsed.error());
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
        if (!parsed) return one(quoted(*text) + ' ' + parsed.error());
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
        return taken ? Flaws{} : one(quoted(*value) + ' ' + taken.error());
    }

    Flaws operator()(const ListKey& list) const {
        const auto* items = std::get_if<List>(&node.value);
        if (items == nullptr) return wrong_kind("a list of strings", node);
        if (items->size() > list.max)
            return one("has " + std::to_string(items->size()) + " items; at most " +
                       std::to_string(list.max) + " are allowed");
        Flaws flaws;
        for (std::size_t i = 0; i < items->size(); ++i)
            for (Flaw& flaw : Assign{key, (*items)[i], draft}(TextKey{list.take, "", ""}))
                flaws.push_back({.problem = std::move(flaw.problem), .item = i});
        return flaws;
    }

    template <class Kind, class Value>
    Flaws bounded(const Kind& kind, Value value) const {
        if (!(value >= kind.min && value <= kind.max))  // a NaN is neither
            return one("must be " + bounds_of(key));
        kind.at(draft) = value;
        return {};
    }
};

}  // namespace

std::vector<Flaw> assign(const Key& key, const Node& node, Draft& draft) {
    return std::visit(Assign{key, node, draft}, key.kind);
}

}  // namespace turnpike
