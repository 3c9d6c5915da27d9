#include "http/fields.h"

#include <array>
#include <cstddef>

#include "http/chars.h"
#include "http/list.h"

namespace turnpike::http {

namespace {

bool is_always_hop_by_hop(std::string_view name) {
    constexpr std::array<std::string_view, 11> names{"te",
                                                     "expect",
                                                     "trailer",
                                                     "upgrade",
                                                     "connection",
                                                     "keep-alive",
                                                     "content-length",
                                                     "proxy-connection",
                                                     "transfer-encoding",
                                                     "proxy-authenticate",
                                                     "proxy-authorization"};
    for (const std::string_view hop : names)
        if (is_named(name, hop)) return true;
    return false;
}

bool lists(std::string_view list, std::string_view name) {
    while (!list.empty())
        if (is_named(cut_element(list), name)) return true;
    return false;
}

}  // namespace

bool is_named(std::string_view name, std::string_view wanted) {
    if (name.size() != wanted.size()) return false;
    for (std::size_t i = 0; i < name.size(); ++i)
        if (lower(name[i]) != lower(wanted[i])) return false;
    return true;
}

bool is_named_after(std::string_view name, std::string_view prefix) {
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

bool is_hop_by_hop(const Field& field, Fields all) {
    if (is_always_hop_by_hop(field.name)) return true;
    for (const Field& other : all)
        if (is_named(other.name, "connection") && lists(other.value, field.name)) return true;
    return false;
}

}  // namespace turnpike::http
