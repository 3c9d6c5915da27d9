// Looking at fields.
#pragma once

#include <optional>
#include <string_view>

#include "http/message.h"

namespace turnpike::http {

/// Of texts that are equally long.
bool is_equal_ignoring_case(std::string_view name, std::string_view wanted);

/// ASCII case-insensitive equality. Most names that are held against each other differ in length.
inline bool is_named(std::string_view name, std::string_view wanted) {
    return name.size() == wanted.size() && is_equal_ignoring_case(name, wanted);
}

/// Whether a name begins so, and goes on.
bool has_name_prefix(std::string_view name, std::string_view prefix);

/// The first field of that name.
const Field* find(Fields fields, std::string_view name);

/// The value of the only field of that name: nullopt if there is none, or more than one.
std::optional<std::string_view> only(Fields fields, std::string_view name);

/// Returns the media type in a Content-Type field: its value without parameters and blanks.
std::string_view media_type(std::string_view content_type);

/// Whether a field belongs to this connection only, and must not be passed on: the hop-by-hop
/// fields of RFC 9110 (Connection, Keep-Alive, Proxy-*, TE, Trailer, Transfer-Encoding, Upgrade),
/// framing (Content-Length, Expect), and whatever a Connection field of `all` names, be it Host.
bool is_hop_by_hop(const Field& field, Fields all);

}  // namespace turnpike::http
