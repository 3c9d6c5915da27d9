// Emptying a string that is used again. `text = {}` and `text = std::string()` keep the memory, so a
// buffer that was large once stays so for ever.
#pragma once

#include <cstddef>
#include <string>

namespace turnpike {

/// Empty, with room for at most `kept` bytes.
inline void empty_and_keep(std::string& text, std::size_t kept) {
    text.clear();
    if (text.capacity() > kept) std::string().swap(text);
}

}  // namespace turnpike
