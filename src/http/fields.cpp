#include "http/fields.h"

#include <cstddef>

#include "http/chars.h"
#include "http/list.h"

namespace turnpike::http {

namespace {

bool is_always_hop_by_hop(std::string_view name) {
    switch (name.size()) {
        case 2: return is_named(name, "te");
        case 6: return is_named(name, "expect");
        case 7: return is_named(name, "trailer") || is_named(name, "upgrade");
        case 10: return is_named(name, "connection") || is_named(name, "keep-alive");
        case 14: return is_named(name, "content-length");
        case 16: return is_named(name, "proxy-connection");
        case 17: return is_named(name, "transfer-encoding");
        case 18: return is_named(name, "proxy-authenticate");
        case 19: return is_named(name, "proxy-authorization");
        default: return false;
    }
}

bool lists(std::string_view list, std::string_view name) {
    while (!list.empty())
        if (is_named(cut_element(list), name)) return true;
    return false;
}

}  // namespace

bool is_equal_ignoring_case(std::string_view name, std::string_view wanted) {
    const std::size_t size = name.size();
    if (size < 8) {
        for (std::size_t i = 0; i < size; ++i)
            if (lower(name[i]) != lower(wanted[i])) return false;
        return true;
    }
    for (std::size_t at = 0; at + 8 <= size; at += 8)
        if (lower_eight(name.data() + at) != lower_eight(wanted.data() + at)) return false;
    return lower_eight(name.data() + size - 8) == lower_eight(wanted.data() + size - 8);
}

bool has_name_prefix(std::string_view name, std::string_view prefix) {
    return name.size() > prefix.size() && is_named(name.substr(0, prefix.size()), prefix);
}

const Field* find(Fields fields, std::string_view name) {
    for (const Field& field : fields)
        if (is_named(field.name, name)) return &field;
    return nullptr;
}

std::optional<std::string_view> only(Fields fields, std::string_view name) {
    std::optional<std::string_view> value;
    for (const Field& field : fields) {
        if (!is_named(field.name, name)) continue;
        if (value) return std::nullopt;
        value = field.value;
    }
    return value;
}

std::string_view media_type(std::string_view content_type) {
    return trim(content_type.substr(0, content_type.find(';')));
}

bool is_hop_by_hop(const Field& field, Fields all) {
    if (is_always_hop_by_hop(field.name)) return true;
    for (const Field& other : all)
        if (is_named(other.name, "connection") && lists(other.value, field.name)) return true;
    return false;
}

}  // namespace turnpike::http
