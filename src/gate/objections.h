// Says why a job has no answer of the model, as far as the engine knows why. What its worker said
// is in gate/trouble_text.
#pragma once

#include "core/engine.h"
#include "gate/arrival.h"
#include "gate/job_name.h"
#include "gate/problem.h"
#include "os/clock.h"

namespace turnpike {

class Objections {
public:
    Objections(const Engine& engine, const JobNames& names, Clock& clock)
        : engine_(engine), names_(names), clock_(clock) {}

    /// Returns the objection to a job of this pool that ended for this reason.
    [[nodiscard]] Objection of(PoolId pool, EndReason reason) const;
    /// Returns the objection to a job that was not run because it equals `first`, which was poison.
    [[nodiscard]] Objection of_known_poison(JobId first) const;

private:
    const Engine& engine_;
    const JobNames& names_;
    Clock& clock_;
};

}  // namespace turnpike
