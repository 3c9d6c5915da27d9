// What people may want to know of a pool and no decision depends on: its latest reload.
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

/// What somebody wants of a reload.
struct ReloadOrder {
    std::vector<std::string> files = {};  // whose change led to it; empty: somebody asked
    bool accept = false;                  // a recorded proof may differ
};

/// It was passed on to the engine.
struct ReloadBegun {
    Generation generation;
    ReloadKind kind = ReloadKind::beside;
};

struct ReloadFacts {
    Generation generation;
    ReloadKind kind = ReloadKind::beside;
    ReloadOrder order;
    Instant began = never;
    Instant ended = never;              // never: it goes on
    ReloadEnd end = ReloadEnd::spread;  // once it has ended
    std::string trouble;                // why it was abandoned, with the traceback; lines
};

struct PoolFacts {
    std::optional<ReloadFacts> reload;  // the latest; none: there was none
};

enum class ReloadState : std::uint8_t {
    waiting,     // for an earlier one, or for a lane that may try it
    trying,      // no lane serves it yet
    spreading,   // one does, the others follow
    done,        // every lane does
    abandoned,   // the old code goes on
    superseded,  // by a newer one
};
std::string_view name_of(ReloadState);

[[nodiscard]] ReloadState state_of(const ReloadFacts& facts, const PoolView& pool);

/// "model.py changed", "model.py, parts.py and 3 more changed", "asked for"
[[nodiscard]] std::string cause_text(const ReloadOrder& order);

/// How many lanes of its pool serve what it brought, and of how many that are on.
struct LanesSwitched {
    std::uint64_t switched = 0;
    std::uint64_t all = 0;
};
[[nodiscard]] LanesSwitched lanes_switched(const ReloadFacts& facts, const View& view, PoolId pool);

}  // namespace turnpike
