// Whom a request was forwarded for, as Forwarded (RFC 7239) and X-Forwarded-For tell. Both are lists:
// each proxy adds the address of its own client at the end. So the list is read from its end, and
// what a client itself put at the beginning is not even looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "http/message.h"

namespace turnpike::http {

enum class HopList : std::uint8_t { forwarded, x_forwarded_for };

/// True if a field says that a proxy forwards the request: Forwarded, X-Forwarded-For, X-Real-IP or
/// Via.
bool is_forwarded(Fields fields);

/// True if there is such a list, even an empty one.
bool has_hops(Fields fields, HopList list);

/// Goes through one list, from its end to its beginning, over all fields of that name.
class Hops {
public:
    Hops(Fields fields, HopList list) : fields_(fields), list_(list) {}

    /// Returns the host of the next hop, without brackets and port: what should be an IP address,
    /// but may be any text. Empty if the hop hides its host or can't be parsed. Returns nullopt
    /// after the first hop. Empty elements are skipped.
    [[nodiscard]] std::optional<std::string_view> next();

private:
    [[nodiscard]] bool take_previous_field();
    [[nodiscard]] std::string_view cut_last_element();

    Fields fields_;  // that are still to be read
    HopList list_;
    std::string_view rest_;  // of the current field
};

}  // namespace turnpike::http
