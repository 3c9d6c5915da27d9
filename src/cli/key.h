// `turnpike key new|list|revoke`: makes, lists and revokes API keys.
#pragma once

#include <span>
#include <string>

#include "gate/keys.h"
#include "terminal/table.h"

namespace turnpike {

/// Returns a table of the keys without their secrets, or what to do if there are no keys.
[[nodiscard]] std::string keys_text(std::span<const ApiKey> keys, TextStyle style);

/// Returns [{"name":"bob","access":"plain","created":"2026-…Z"}]
[[nodiscard]] std::string keys_json(std::span<const ApiKey> keys);

}  // namespace turnpike
