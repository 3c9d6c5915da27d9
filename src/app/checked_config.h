// The configuration with everything that can be checked before listening: beside the keys' own
// bounds, what other modules make of their values.
#pragma once

#include <optional>
#include <string>

#include "config/config.h"
#include "gate/key_file.h"

namespace turnpike {

[[nodiscard]] ConfigOrMistakes checked_config(const std::optional<std::string>& path,
                                              const Flags& flags);

/// Whether clients of other machines could come, so that API keys are needed.
[[nodiscard]] KeyFile::Need key_need(const GateConfig& gate);

/// Why the gate must not listen with these keys; nothing: it may.
[[nodiscard]] std::optional<std::string> objection_to_listening(const GateConfig& gate,
                                                                const KeyFile& keys);

}  // namespace turnpike
