// The states of lanes, in words for people.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "core/view.h"
#include "core/words.h"

namespace turnpike {

/// Returns what a lane in this state does: "serves", "is out of the pool" …
[[nodiscard]] std::string_view words_for(LaneState state);

/// Returns the reason in words. Empty for Reason::none.
[[nodiscard]] std::string_view words_for(Reason reason);

/// Returns the same for the name of a reason, as `status` shows it. An unknown name is returned as
/// it is.
[[nodiscard]] std::string_view words_for_reason(std::string_view name);

/// Returns when a failed lane tries again: "next try in 4 min 12 s". Empty if the time is zero.
[[nodiscard]] std::string next_try_words(Duration next_try);

/// Returns a sentence such as "lane 0 has failed: it crashed too often, next try in 4 min 12 s".
[[nodiscard]] std::string sentence_of(const LaneView& lane);

/// Returns the sentences of the pool's lanes, with semicolons between them.
[[nodiscard]] std::string sentences_about_lanes(const View& view, PoolId pool);

}  // namespace turnpike
