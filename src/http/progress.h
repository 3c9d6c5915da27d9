// How far along a message is.
#pragma once

#include <cstdint>

namespace turnpike::http {

enum class Progress : std::uint8_t { more, done, fault };

}  // namespace turnpike::http
