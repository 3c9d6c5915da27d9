// How lanes are, in words for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/words.h"

namespace turnpike {

/// "serves", "is out of the pool" …: what a lane does.
[[nodiscard]] std::string_view words_for(LaneState state);

/// Why; empty where there is nothing to say.
[[nodiscard]] std::string_view words_for(Reason reason);

/// The same for the name of a reason, as status has it; the name itself if there are no words.
[[nodiscard]] std::string_view words_for_reason(std::string_view name);

/// "lane 0 has failed: it crashed too often"
[[nodiscard]] std::string sentence_of(std::uint64_t lane, LaneState state, Reason reason);

}  // namespace turnpike
