// Text of strangers for people's terminals and files: one line of valid UTF-8 that no terminal
// obeys. Escape sequences (colours, cursor moves, window titles) and control characters are left
// out, tabs stay, each byte that is no UTF-8 becomes U+FFFD.
#pragma once

#include <string>
#include <string_view>

namespace turnpike {

void append_plain(std::string& out, std::string_view text);

}  // namespace turnpike
