// What the supervisor reports about the latest attempt of a job, on workers of every kind. All of it
// is reset in one place when an attempt begins, so nobody reads what an earlier attempt left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "core/words.h"
#include "stream/trouble.h"

namespace turnpike {

/// How far the job is, as the model reported it.
struct JobProgress {
    std::optional<std::uint16_t> permille;
    std::string text;
};

struct AttemptReport {
    AttemptId id;           // none if no attempt has begun
    Generation generation;  // of its worker
    Instant began{};
    Trouble trouble;
    JobProgress progress;
    std::string stacks;  // of its worker, if the job ran far longer than usual; otherwise empty

    void begin(AttemptId attempt, Generation of_worker, Instant now);
    /// Empties the report and keeps a little memory for the next one.
    void clear();
};

}  // namespace turnpike
