// The {words} of a worker's command: blanks that each lane fills in for itself.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike {

/// What stands for a word; nothing: it is no blank, and stays as it is with its braces.
using PlaceholderValue = std::function<std::optional<std::string>(std::string_view word)>;

/// Braces after a "$" are the shell's own: "${port}" is no blank.
[[nodiscard]] std::string filled_placeholders(std::string_view text,
                                              const PlaceholderValue& value_of);

/// Whether {word} is in the text.
[[nodiscard]] bool has_placeholder(std::string_view text, std::string_view word);

}  // namespace turnpike
