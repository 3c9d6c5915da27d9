// Finding fields and comparing their names.
#pragma once

#include <optional>
#include <string_view>

#include "http/message.h"

namespace turnpike::http {

/// Compares texts of equal length, ignoring the case of ASCII letters.
bool is_equal_ignoring_case(std::string_view name, std::string_view wanted);

/// True if the texts are equal, ignoring the case of ASCII letters. The length is compared first,
/// since most names differ in it.
inline bool is_named(std::string_view name, std::string_view wanted) {
    return name.size() == wanted.size() && is_equal_ignoring_case(name, wanted);
}

/// True if the name begins with the prefix and is longer, ignoring the case of ASCII letters.
bool has_name_prefix(std::string_view name, std::string_view prefix);

/// Returns the first field of that name, or nullptr.
const Field* find(Fields fields, std::string_view name);

/// Returns the value of the only field of that name, or nullopt if there is none or more than one.
std::optional<std::string_view> only(Fields fields, std::string_view name);

/// Returns the media type in a Content-Type field: its value without parameters and blanks.
std::string_view media_type(std::string_view content_type);

/// True if a field belongs to this connection only and must not be passed on. These are the
/// hop-by-hop fields of RFC 9110 (Connection, Keep-Alive, Proxy-*, TE, Trailer, Transfer-Encoding,
/// Upgrade), the framing (Content-Length, Expect), and any field that a Connection field of `all`
/// names, even Host.
bool is_hop_by_hop(const Field& field, Fields all);

}  // namespace turnpike::http
