// Whose workers a pool has, and which of its keys mean something for them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "config/reading.h"

namespace turnpike {

/// "pool.chat.slots", "pool.chat.attach[1]"
[[nodiscard]] std::string path_of(const PoolDraft& pool, std::string_view key);
[[nodiscard]] std::string path_of(const PoolDraft& pool, std::string_view key, std::size_t item);

/// A pool has a model, or a command, or attaches to workers: exactly one of them.
void check_workers(Reading& reading, const PoolDraft& pool);

/// Their files; not for a text that came without a file system.
void check_model_files(Reading& reading);

/// The workers that the file names for its only pool give way to those of a flag, with what the file
/// says of them and has no meaning for the others.
void forget_workers(Reading& reading, const Flags& flags);

}  // namespace turnpike
