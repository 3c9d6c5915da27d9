// `turnpike key new|list|revoke`.
#pragma once

#include <span>
#include <string>

#include "gate/keys.h"
#include "terminal/table.h"

namespace turnpike {

/// A table without secrets; no keys: what to do.
[[nodiscard]] std::string keys_text(std::span<const ApiKey> keys, TextStyle style);

/// [{"name":"bob","access":"plain","created":"2026-…Z"}]
[[nodiscard]] std::string keys_json(std::span<const ApiKey> keys);

}  // namespace turnpike
