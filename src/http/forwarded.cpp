#include "http/forwarded.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "http/chars.h"
#include "http/fields.h"
#include "http/list.h"

namespace turnpike::http {

namespace {

constexpr std::size_t port_digits_max = 5;

std::string_view name_of(HopList list) {
    return list == HopList::forwarded ? "forwarded" : "x-forwarded-for";
}

/// True if the quotation mark at `at` has an odd number of backslashes before it.
bool is_escaped(std::string_view text, std::size_t at) {
    std::size_t backslashes = 0;
    while (backslashes < at && text[at - backslashes - 1] == '\\') ++backslashes;
    return backslashes % 2 == 1;
}

/// Returns where the last comma outside quotation marks is, or npos.
std::size_t last_comma(std::string_view text, HopList list) {
    if (list == HopList::x_forwarded_for) return text.rfind(',');
    bool is_quoted = false;
    for (std::size_t at = text.size(); at-- > 0;) {
        if (text[at] == '"' && !is_escaped(text, at)) is_quoted = !is_quoted;
        if (text[at] == ',' && !is_quoted) return at;
    }
    return std::string_view::npos;
}

bool is_port(std::string_view text, HopList list) {
    if (list == HopList::forwarded && text.size() > 1 && text.front() == '_')
        return all(token_char, text);
    return !text.empty() && text.size() <= port_digits_max && all(digit_char, text);
}

/// Returns the host in "1.2.3.4", "1.2.3.4:80", "[::1]" and "[::1]:80", and in "::1" where the list
/// allows it. Empty if the text is none of these.
std::string_view host_in(std::string_view node, HopList list) {
    std::string_view host;
    std::string_view rest;
    if (node.starts_with('[')) {
        const std::size_t end = node.find(']');
        if (end == std::string_view::npos) return {};
        host = node.substr(1, end - 1);
        rest = node.substr(end + 1);
        if (!host.contains(':')) return {};
    } else if (std::ranges::count(node, ':') > 1) {
        return list == HopList::x_forwarded_for ? node : std::string_view();
    } else {
        host = node.substr(0, node.find(':'));
        rest = node.substr(host.size());
    }
    const bool has_rest = rest.empty() || (rest.front() == ':' && is_port(rest.substr(1), list));
    return has_rest ? host : std::string_view();
}

/// Removes and returns a token or a quoted string without its quotation marks. Nullopt if there is
/// neither, or if a backslash is in it: no address needs one.
std::optional<std::string_view> cut_value(std::string_view& text) {
    if (!text.starts_with('"')) {
        const std::string_view token = text.substr(0, count_front(token_char, text));
        text.remove_prefix(token.size());
        return token.empty() ? std::nullopt : std::optional(token);
    }
    const std::size_t end = text.find_first_of("\"\\", 1);
    if (end == std::string_view::npos || text[end] == '\\') return std::nullopt;
    const std::string_view quoted = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    return quoted;
}

struct Parameter {
    std::string_view name;
    std::string_view value;
};

/// Removes the next parameter of an element with the semicolon behind it. Nullopt if it is
/// malformed.
std::optional<Parameter> cut_parameter(std::string_view& element) {
    const std::string_view name = element.substr(0, count_front(token_char, element));
    element.remove_prefix(name.size());
    if (name.empty() || !element.starts_with('=')) return std::nullopt;
    element.remove_prefix(1);
    const auto value = cut_value(element);
    if (!value) return std::nullopt;
    element = trim(element);
    if (!element.empty() && element.front() != ';') return std::nullopt;
    return Parameter{.name = name, .value = *value};
}

/// Returns the value of "for" in an element such as `for="[::1]:80";proto=https`. Empty if there is
/// none, or more than one, or the element is malformed.
std::string_view node_in(std::string_view element) {
    std::optional<std::string_view> node;
    while (!element.empty()) {
        if (element.front() == ';' || is_blank(element.front())) {
            element.remove_prefix(1);
            continue;
        }
        const auto parameter = cut_parameter(element);
        if (!parameter) return {};
        if (!is_named(parameter->name, "for")) continue;
        if (node) return {};
        node = parameter->value;
    }
    return node.value_or(std::string_view());
}

}  // namespace

bool is_forwarded(Fields fields) {
    constexpr std::array<std::string_view, 4> marks{"forwarded", "x-forwarded-for", "x-real-ip",
                                                    "via"};
    return std::ranges::any_of(
        marks, [&](std::string_view name) { return find(fields, name) != nullptr; });
}

bool has_hops(Fields fields, HopList list) { return find(fields, name_of(list)) != nullptr; }

std::optional<std::string_view> Hops::next() {
    while (!rest_.empty() || take_previous_field()) {
        const std::string_view element = cut_last_element();
        if (element.empty()) continue;
        const bool has_parameters = list_ == HopList::forwarded;
        return host_in(has_parameters ? node_in(element) : element, list_);
    }
    return std::nullopt;
}

/// Moves on to the field before, if there is one.
bool Hops::take_previous_field() {
    while (!fields_.empty()) {
        const Field field = fields_.back();
        fields_ = fields_.first(fields_.size() - 1);
        if (!is_named(field.name, name_of(list_))) continue;
        rest_ = field.value;
        return true;
    }
    return false;
}

std::string_view Hops::cut_last_element() {
    const std::size_t comma = last_comma(rest_, list_);
    const bool is_first = comma == std::string_view::npos;
    const std::string_view element = trim(is_first ? rest_ : rest_.substr(comma + 1));
    rest_ = is_first ? std::string_view() : rest_.substr(0, comma);
    return element;
}

}  // namespace turnpike::http
