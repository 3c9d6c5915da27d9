// The states of lanes, in words for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/words.h"

namespace turnpike {

/// Returns what a lane in this state does: "serves", "is out of the pool" …
[[nodiscard]] std::string_view words_for(LaneState state);

/// Returns the reason in words. Empty for Reason::none.
[[nodiscard]] std::string_view words_for(Reason reason);

/// Returns the same for the name of a reason, as `status` shows it. An unknown name is returned as
/// it is.
[[nodiscard]] std::string_view words_for_reason(std::string_view name);

/// Returns a sentence such as "lane 0 has failed: it crashed too often".
[[nodiscard]] std::string sentence_of(std::uint64_t lane, LaneState state, Reason reason);

}  // namespace turnpike
