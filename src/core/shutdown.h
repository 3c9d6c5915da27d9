// Shutdown: the engine admits nothing more, lets admitted jobs finish, ends the workers, then lets
// the program end.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "core/timers.h"

namespace turnpike {

struct State;

///   not_asked ─▶ finishing ─▶ stopping ─▶ over
///
/// A stage never goes back. `finishing` takes no time if no job lives.
enum class ShutdownStage : std::uint8_t {
    not_asked,
    finishing,  // nothing is admitted; live jobs have until the deadline
    stopping,   // no job lives, or the deadline has passed: workers end
    over,       // Leave was sent
};

struct Shutdown {
    ShutdownStage stage = ShutdownStage::not_asked;
    Instant deadline = never;
    Timer timer;

    [[nodiscard]] bool is_asked() const { return stage != ShutdownStage::not_asked; }
    /// Stays true when the shutdown is over.
    [[nodiscard]] bool is_stopping() const { return stage >= ShutdownStage::stopping; }
};

namespace shutdown {

void asked(State& s, Duration patience);

/// Ends all jobs and kills all workers, because the deadline has come.
void time_is_up(State& s);

/// Takes every step that the facts allow now.
void step(State& s);

}  // namespace shutdown
}  // namespace turnpike
