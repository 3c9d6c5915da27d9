#include "config/reading.h"

#include <utility>

#include "base/name.h"
#include "config/assign.h"
#include "config/nearest.h"
#include "config/text.h"
#include "config/tree.h"

namespace turnpike {
namespace {

/// A path in the file, and the same path in the table of keys, where the name of a pool is "*".
struct Spot {
    std::string path;
    std::string pattern;

    [[nodiscard]] Spot within(std::string_view key) const {
        const std::string dot = path.empty() ? "" : ".";
        return {path + dot + std::string(key), pattern + dot + std::string(key)};
    }
};

std::string last_part(std::string_view path) {
    return std::string(path.substr(path.rfind('.') + 1));
}

/// Returns every path that may occur: the keys and the groups that they are in.
std::vector<std::string> known_paths() {
    std::vector<std::string> known;
    for (const Section& section : sections()) {
        for (const Key& key : section.keys) {
            const std::string path = std::string(section.prefix).append(key.name);
            for (std::size_t dot = path.find('.'); dot != std::string::npos;
                 dot = path.find('.', dot + 1))
                known.push_back(path.substr(0, dot));
            known.push_back(path);
        }
    }
    return known;
}

/// Returns the names in the same group as `pattern`: "gate.listen" → listen, body_max, …
std::vector<std::string> neighbours(std::string_view pattern) {
    const std::string_view group = pattern.substr(0, pattern.rfind('.') + 1);
    std::vector<std::string> result;
    for (const std::string& path : known_paths())
        if (path.starts_with(group) && path.find('.', group.size()) == std::string::npos)
            result.push_back(path.substr(group.size()));
    return result;
}

std::string unknown_key(const Spot& spot) {
    const std::string word = last_part(spot.pattern);
    if (const std::string near = nearest(word, neighbours(spot.pattern)); !near.empty())
        return "unknown key; did you mean " + near + "?";
    for (const std::string& path : known_paths())
        if (last_part(path) == word) return "unknown key; did you mean " + path + "?";
    return "unknown key";
}

class Reader {
public:
    explicit Reader(Reading& reading) : reading_(reading) {}

    void read(const Table& table, const Spot& spot) {
        for (const auto& [key, node] : table) {
            if (!is_bare_key(key)) {  // a dot or a star in a key could imitate another path
                const std::string path = spot.within(in_quotes(key)).path;
                reading_.sources.origins[path] = {.line = node.line};
                reading_.add_mistake(path, "unknown key");
                continue;
            }
            read(node, spot.within(key));
        }
    }

private:
    void read(const Node& node, const Spot& spot) {
        reading_.sources.origins[spot.path] = {.line = node.line};
        const auto* table = std::get_if<Table>(&node.value);
        if (const Key* key = find_key(spot.pattern)) return read_value(*key, node, spot);
        if (!is_group(spot.pattern)) return reading_.add_mistake(spot.path, unknown_key(spot));
        if (table == nullptr)
            return reading_.add_mistake(spot.path,
                                        "must be a table, not " + std::string(kind_of(node)));
        if (spot.pattern == "pool") return read_pools(*table);
        if (spot.pattern == "pool.*.proof") reading_.draft.pool.has_proof = true;
        read(*table, spot);
    }

    void read_value(const Key& key, const Node& node, const Spot& spot) {
        if (const auto* items = std::get_if<List>(&node.value))
            for (std::size_t i = 0; i < items->size(); ++i)
                reading_.sources.origins[spot.path + item_path(i)] = {.line = (*items)[i].line};
        if (const auto* entries = std::get_if<Table>(&node.value))
            for (const auto& [name, value] : *entries)
                reading_.sources.origins[spot.path + entry_path(name)] = {.line = value.line};
        for (Flaw& flaw : assign(key, node, reading_.draft))
            reading_.add_mistake(spot.path + flaw.within, std::move(flaw.problem));
    }

    void read_pools(const Table& pools) {
        for (const auto& [name, node] : pools) {
            const Spot spot{"pool." + name, "pool.*"};
            if (!is_name(name)) {
                reading_.sources.origins["pool"] = {.line = node.line};
                reading_.add_mistake(
                    "pool", in_quotes(name) + " is not a valid name: " + std::string(name_rule));
                continue;
            }
            reading_.draft.pool = {};
            reading_.draft.pool.config.name = name;
            read(node, spot);
            reading_.draft.pools.push_back(std::move(reading_.draft.pool));
        }
    }

    Reading& reading_;
};

}  // namespace

void Reading::add_mistake(std::string_view path, std::string problem) {
    unsound.insert(std::string(path.substr(0, path.find('['))));
    mistakes.push_back(sources.mistake(path, std::move(problem)));
}

bool read_text(Reading& reading, std::string_view text) {
    auto table = parse_toml(text);
    if (table)
        Reader(reading).read(*table, {});
    else
        reading.mistakes.push_back({.file = reading.sources.file,
                                    .line = table.error().line,
                                    .key = "",
                                    .problem = std::move(table.error().problem)});
    return table.has_value();
}

}  // namespace turnpike
