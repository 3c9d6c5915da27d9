// Makes untrusted text safe for terminals and files: one line of valid UTF-8 without anything that
// a terminal acts on. Drops escape sequences (colours, cursor moves, window titles) and control
// characters, keeps tabs, and replaces each byte that is not UTF-8 by U+FFFD.
#pragma once

#include <string>
#include <string_view>

namespace turnpike {

void append_plain(std::string& out, std::string_view text);

}  // namespace turnpike
