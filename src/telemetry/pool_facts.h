// Facts about a pool that people want to see and on which no decision depends: its latest reload.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/view.h"
#include "core/words.h"

namespace turnpike {

/// How a reload was asked for.
struct ReloadOrder {
    std::vector<std::string> files = {};  // the files that changed; empty if a person asked
    bool accept = false;                  // accept an answer that differs from the recorded proof
};

/// A reload that was passed on to the engine.
struct ReloadBegun {
    Generation generation;
    ReloadKind kind = ReloadKind::beside;
};

struct ReloadFacts {
    Generation generation;
    ReloadKind kind = ReloadKind::beside;
    ReloadOrder order;
    Instant began = never;
    Instant ended = never;              // `never` while it goes on
    ReloadEnd end = ReloadEnd::spread;  // valid once it has ended
    std::string trouble;                // why it was abandoned, with the traceback; several lines
};

struct PoolFacts {
    std::optional<ReloadFacts> reload;  // the latest, if there was one
};

enum class ReloadState : std::uint8_t {
    waiting,     // for an earlier reload, or for a lane that may try the new code
    trying,      // no lane serves the new code yet
    spreading,   // one lane serves it, the others follow
    done,        // every lane serves it
    abandoned,   // the old code serves on
    superseded,  // replaced by a newer reload
};
std::string_view name_of(ReloadState);

[[nodiscard]] ReloadState state_of(const ReloadFacts& facts, const PoolView& pool);

/// Returns "model.py changed", "model.py, parts.py and 3 more changed" or "asked for".
[[nodiscard]] std::string cause_text(const ReloadOrder& order);

/// How many lanes of the pool serve the new code, of all its lanes that are on.
struct LanesSwitched {
    std::uint64_t switched = 0;
    std::uint64_t all = 0;
};
[[nodiscard]] LanesSwitched lanes_switched(const ReloadFacts& facts, const View& view, PoolId pool);

}  // namespace turnpike
