// Shared by the rows of the table of keys: where a value is stored, and common bounds.
#pragma once

#include <cstddef>
#include <expected>
#include <string>

#include "config/keys.h"

namespace turnpike {

inline constexpr Duration long_time = 720h;
inline constexpr std::size_t list_max = 1024;

/// The result of a Take function. An error is what is wrong with the text.
using Taken = std::expected<void, std::string>;

template <auto Member>
auto& of_worker(Draft& draft) {
    return draft.pool.config.worker.*Member;
}
template <auto Member>
auto& of_settings(Draft& draft) {
    return draft.pool.config.settings.*Member;
}

}  // namespace turnpike
