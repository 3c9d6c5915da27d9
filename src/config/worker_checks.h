// Checks which kind of workers a pool has, and whether its keys apply to that kind.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "config/reading.h"

namespace turnpike {

/// Return the path of a key or of a list's item: "pool.chat.slots", "pool.chat.attach[1]".
[[nodiscard]] std::string path_of(const PoolDraft& pool, std::string_view key);
[[nodiscard]] std::string path_of(const PoolDraft& pool, std::string_view key, std::size_t item);

/// Checks that the pool has exactly one of model, worker and attach, and only keys that apply to
/// it.
void check_workers(Reading& reading, const PoolDraft& pool);

/// Checks the files of all models. Not called for a configuration that was parsed from a text
/// alone.
void check_model_files(Reading& reading);

/// Removes the workers that the file names for its only pool, because a flag names others. Also
/// removes the keys that do not apply to the workers of the flag.
void forget_workers(Reading& reading, const Flags& flags);

}  // namespace turnpike
