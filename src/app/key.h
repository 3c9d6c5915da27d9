// `turnpike key new|list|revoke`.
#pragma once

#include <span>
#include <string>

#include "app/table.h"
#include "gate/keys.h"

namespace turnpike {

/// A table without secrets; no keys: what to do.
[[nodiscard]] std::string keys_text(std::span<const Key> keys, Look look);

/// [{"name":"bob","access":"plain","created":"2026-…Z"}]
[[nodiscard]] std::string keys_json(std::span<const Key> keys);

}  // namespace turnpike
