// The only file that includes toml++, because its headers take seconds to compile.
//
// toml++ 3.3 asserts where it should report an error (for example on "[[["). A wrong file must not
// abort the program, so this file turns the assertions into exceptions, which parse_toml() catches.
#include "config/tree.h"

namespace {
struct BrokenAssertion {};
[[noreturn]] void assertion_broke() { throw BrokenAssertion{}; }
}  // namespace

#undef NDEBUG  // NDEBUG would turn the assertions into assumptions
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ASSERT(condition) ((condition) ? void() : assertion_broke())
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

namespace turnpike {
namespace {

Node converted(const toml::node& node, const toml::source_position& at);

Table converted(const toml::table& table) {
    std::vector<std::pair<toml::source_position, Entry>> rows;
    for (const auto& [key, node] : table) {
        const toml::source_position at = key.source().begin;
        rows.emplace_back(at, Entry{std::string(key.str()), converted(node, at)});
    }
    std::ranges::stable_sort(rows, std::less{}, [](const auto& row) { return row.first; });
    Table result;
    for (auto& row : rows) result.push_back(std::move(row.second));
    return result;
}

List converted(const toml::array& array) {
    List result;
    for (const toml::node& node : array) result.push_back(converted(node, node.source().begin));
    return result;
}

Node converted(const toml::node& node, const toml::source_position& at) {
    Node result{.value = OtherValue{}, .line = static_cast<int>(at.line)};
    if (const auto* table = node.as_table()) result.value = converted(*table);
    if (const auto* array = node.as_array()) result.value = converted(*array);
    if (const auto* text = node.as_string()) result.value = text->get();
    if (const auto* integer = node.as_integer()) result.value = integer->get();
    if (const auto* number = node.as_floating_point()) result.value = number->get();
    if (const auto* flag = node.as_boolean()) result.value = flag->get();
    return result;
}

}  // namespace

std::expected<Table, SyntaxError> parse_toml(std::string_view text) {
    try {
        return converted(toml::parse(text));
    } catch (const toml::parse_error& error) {
        return std::unexpected(SyntaxError{.line = static_cast<int>(error.source().begin.line),
                                           .problem = std::string(error.description())});
    } catch (const BrokenAssertion&) {
        return std::unexpected(SyntaxError{.line = 0, .problem = "is not valid TOML"});
    }
}

std::string_view kind_of(const Node& node) {
    constexpr std::array<std::string_view, std::variant_size_v<decltype(Node::value)>> names{
        "a boolean", "an integer", "a number", "a string", "a list", "a table", "a date or time"};
    return names[node.value.index()];
}

}  // namespace turnpike
