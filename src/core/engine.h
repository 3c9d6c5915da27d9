// The engine: every decision of Turnpike, as a pure function of what happened and when.
//
//   Engine engine(settings);
//   Actions actions;
//   engine.handle(GateOpened{}, now, actions);     // appends what to do
//   carry_out(actions), actions.clear();
//   sleep until engine.next_deadline(), then handle(TimePassed{}, …)
//
// The engine owns every job, queue, lane and worker state. It knows ids, sizes and verdicts, never
// bytes. It uses no I/O, clock, environment, thread or outside randomness: the same events at the
// same instants give the same actions. docs/engine.md lists the rules by file.
#pragma once

#include <memory>
#include <optional>

#include "base/time.h"
#include "core/action.h"
#include "core/event.h"
#include "core/settings.h"
#include "core/view.h"

namespace turnpike {

struct State;

class Engine {
public:
    explicit Engine(Settings settings);
    ~Engine();
    Engine(Engine&&) noexcept;
    Engine& operator=(Engine&&) noexcept;

    /// Takes one event and appends the actions that follow. `now` must not go back.
    void handle(const Event& event, Instant now, Actions& actions);

    /// Returns when TimePassed is due, or `never` if nothing waits for time.
    [[nodiscard]] Instant next_deadline() const;

    /// Overwrites `out`, reusing its memory.
    void view(Instant now, View& out) const;
    [[nodiscard]] View view(Instant now) const;
    /// Fills `out.clients` only. Visits every job.
    void view_clients(Instant now, View& out) const;
    /// Returns how long a job of this client that arrives now would wait in this pool.
    [[nodiscard]] Duration expected_wait(PoolId pool, ClientId client) const;
    [[nodiscard]] std::optional<JobView> find(JobId job, Instant now) const;

private:
    std::unique_ptr<State> state_;
};

}  // namespace turnpike
