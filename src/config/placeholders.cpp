#include "config/placeholders.h"

#include <cstddef>

namespace turnpike {

std::string filled_placeholders(std::string_view text, const PlaceholderValue& value_of) {
    std::string result;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool may_open = text[at] == '{' && (at == 0 || text[at - 1] != '$');
        const std::size_t end =
            may_open ? text.find_first_of("{}", at + 1) : std::string_view::npos;
        std::optional<std::string> filled;
        if (end != std::string_view::npos && text[end] == '}')
            filled = value_of(text.substr(at + 1, end - at - 1));
        if (!filled) {
            result += text[at];
            continue;
        }
        result += *filled;
        at = end;
    }
    return result;
}

bool has_placeholder(std::string_view text, std::string_view word) {
    bool found = false;
    (void)filled_placeholders(text, [&](std::string_view there) -> std::optional<std::string> {
        found = found || there == word;
        return std::nullopt;
    });
    return found;
}

}  // namespace turnpike
