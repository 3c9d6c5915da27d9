// What a key may use at most, whoever else is there. A key without limits shares the gate with all
// others as an address does. `turnpike key new` sets the limits, and the key file keeps them:
//
//   alice <tab> plain <tab> SHA-256 <tab> date <tab> jobs_max=20 <tab> rate=90/min
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/time.h"
#include "core/words.h"

namespace turnpike {

/// How many jobs may come in a second or in a minute.
struct Rate {
    std::uint32_t jobs = 1;
    Duration per = 1s;  // 1s or 1min
    friend bool operator==(const Rate&, const Rate&) = default;
};

struct KeyLimits {
    std::optional<std::uint32_t> jobs_max;  // that arrive, wait or run at once
    std::optional<Bytes> bytes_max;         // of their bodies
    std::optional<Rate> rate;
    Priority priority_max;  // above it, a job only goes before other jobs of its own client
    friend bool operator==(const KeyLimits&, const KeyLimits&) = default;
};

/// One row per limit. The name is that of the key file ("jobs_max") and of the flag ("--jobs-max").
struct KeyLimit {
    std::string_view name;
    /// Parses and stores a value. An error message is the second half of a sentence.
    std::expected<void, std::string> (*take)(KeyLimits&, std::string_view);
    /// Returns the value as take() reads it. Empty if it is the default.
    std::string (*text)(const KeyLimits&);
};

[[nodiscard]] std::span<const KeyLimit> key_limits();

/// Returns the row of this name, or nullptr if there is none.
[[nodiscard]] const KeyLimit* find_key_limit(std::string_view name);

/// Returns "5/s" or "90/min".
[[nodiscard]] std::string text_of(const Rate& rate);

}  // namespace turnpike
