// Empties a string that is reused. `text = {}` and `text = std::string()` keep the memory, so a
// buffer that was large once would stay large for ever.
#pragma once

#include <cstddef>
#include <string>

namespace turnpike {

/// Empties the text. Gives its memory back if it has room for more than `kept` bytes.
inline void empty_and_keep(std::string& text, std::size_t kept) {
    text.clear();
    if (text.capacity() > kept) std::string().swap(text);
}

}  // namespace turnpike
