// Tries to leave out smaller and smaller pieces. If a piece is not needed, goes on with the rest.
#include "sim/shrink.h"

#include <algorithm>

namespace turnpike::sim {

namespace {

Ids without(const Ids& ids, std::size_t from, std::size_t count) {
    Ids rest;
    rest.reserve(ids.size());
    for (std::size_t index = 0; index < ids.size(); ++index)
        if (index < from || index >= from + count) rest.push_back(ids[index]);
    return rest;
}

}  // namespace

Ids shrink(Ids ids, const Shrinking& shrinking) {
    std::size_t piece = std::max<std::size_t>(1, ids.size() / 2);
    while (!ids.empty()) {
        bool has_shrunk = false;
        // From the end, because stimuli that come late in a run often do not matter.
        for (std::size_t end = ids.size(); end > 0;) {
            if (!shrinking.may_go_on()) return ids;
            const std::size_t from = end > piece ? end - piece : 0;
            Ids rest = without(ids, from, end - from);
            if (shrinking.still_fails(rest)) ids = std::move(rest), has_shrunk = true;
            end = from;
        }
        if (piece == 1 && !has_shrunk) break;
        if (piece > 1) piece /= 2;
    }
    return ids;
}

}  // namespace turnpike::sim
