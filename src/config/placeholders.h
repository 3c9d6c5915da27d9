// The {placeholders} in a worker's command, which Turnpike replaces for each lane.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike {

/// Returns the value of a placeholder. Returns nullopt if the word is not a placeholder; it then
/// stays in the text with its braces.
using PlaceholderValue = std::function<std::optional<std::string>(std::string_view word)>;

/// Returns the text with its placeholders replaced. Braces after a "$" belong to the shell:
/// "${port}" is not a placeholder.
[[nodiscard]] std::string filled_placeholders(std::string_view text,
                                              const PlaceholderValue& value_of);

/// True if the text has the placeholder {word}.
[[nodiscard]] bool has_placeholder(std::string_view text, std::string_view word);

}  // namespace turnpike
