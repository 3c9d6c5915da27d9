// host[:port], as in Host and in the absolute-form of a target.
//
// We accept less than RFC 3986, which also allows escapes and sub-delims in names, an empty port,
// and addresses of future versions. Real hosts don't use these, but attacks do.
#pragma once

#include <string_view>

namespace turnpike::http {

/// True for a name of unreserved characters, an IPv4 address or an IPv6 address in brackets, with
/// an optional port up to 65535.
bool is_authority(std::string_view text);

}  // namespace turnpike::http
