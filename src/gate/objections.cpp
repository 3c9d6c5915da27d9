#include "gate/objections.h"

#include <fmt/format.h>

#include "telemetry/lane_words.h"

namespace turnpike {

namespace {

/// True if every client may read what went wrong, because it is about the client's own input or
/// about the worker's process, not about the model's code.
bool is_cause_public(EndReason reason) {
    return reason == EndReason::bad_input || reason == EndReason::worker_died ||
           reason == EndReason::poison || reason == EndReason::stream_broken;
}

}  // namespace

Objection Objections::of(PoolId pool, EndReason reason, const AttemptFailure& failure) const {
    Objection objection{problem_of(reason), {}};
    const bool shows_words =
        failure.is_reader_local || config_.pools[pool.value].errors == ErrorsShown::full;
    if (is_cause_public(reason) || (is_model_failure(reason) && shows_words))
        objection.detail = failure.text;
    if (reason == EndReason::no_lane)
        objection.detail = sentences_about_lanes(engine_.view(clock_.now()), pool);
    return objection;
}

Objection Objections::of_known_poison(JobId first) const {
    return {Problem::known_poison, fmt::format("job {} was the same request and killed two workers",
                                               names_.name_of(first).view())};
}

}  // namespace turnpike
