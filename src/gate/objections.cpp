#include "gate/objections.h"

#include <fmt/format.h>

#include "telemetry/lane_words.h"

namespace turnpike {

Objection Objections::of(PoolId pool, EndReason reason) const {
    Objection objection{problem_of(reason), {}};
    if (reason == EndReason::no_lane)
        objection.detail = sentences_about_lanes(engine_.view(clock_.now()), pool);
    return objection;
}

Objection Objections::of_known_poison(JobId first) const {
    return {Problem::known_poison, fmt::format("job {} was the same request and killed two workers",
                                               names_.name_of(first).view())};
}

}  // namespace turnpike
