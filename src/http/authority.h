// host[:port], as in Host and in the absolute-form of a target.
//
// Narrower than RFC 3986, which also allows escapes and sub-delims in names, an empty port, and
// addresses of a future version: nobody's host is named like that, and attacks are.
#pragma once

#include <string_view>

namespace turnpike::http {

/// A name of unreserved characters, an IPv4 address or an IPv6 address in brackets; a port of up to
/// 65535.
bool is_authority(std::string_view text);

}  // namespace turnpike::http
