// How lanes are, in words for people.
#pragma once

#include <string_view>

#include "core/words.h"

namespace turnpike {

/// "serves", "is out of the pool" …: what a lane does.
[[nodiscard]] std::string_view words_for(LaneState state);

/// Why; empty where there is nothing to say.
[[nodiscard]] std::string_view words_for(Reason reason);

/// The same for the name of a reason, as status has it; the name itself if there are no words.
[[nodiscard]] std::string_view words_for_reason(std::string_view name);

}  // namespace turnpike
