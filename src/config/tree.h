// A TOML document as plain values with their lines. The rest of the module does not know toml++.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace turnpike {

struct Node;
struct Entry;
using List = std::vector<Node>;
using Table = std::vector<Entry>;  // in the file's order
struct OtherValue {};              // dates and times, which no key accepts

struct Node {
    std::variant<bool, std::int64_t, double, std::string, List, Table, OtherValue> value;
    int line = 0;  // line of the key, or of a value in a list
};

struct Entry {
    std::string key;
    Node node;
};

struct SyntaxError {
    int line = 0;
    std::string problem;
};

[[nodiscard]] std::expected<Table, SyntaxError> parse_toml(std::string_view text);

/// Returns "a string", "an integer", …
[[nodiscard]] std::string_view kind_of(const Node&);

}  // namespace turnpike
