// What all actors of the world share: the clock, the agenda, the plan, and tell(), which sends
// events to the engine through the faults of the shell.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/event.h"
#include "sim/agenda.h"
#include "sim/chance.h"
#include "sim/curses.h"
#include "sim/invariants.h"
#include "sim/plan.h"

namespace turnpike::sim {

class Stage {
public:
    using Listener = std::function<void(const Event&)>;

    /// `listener` hands each event to the engine.
    Stage(const Plan& plan, Listener listener);

    [[nodiscard]] const Plan& plan() const { return plan_; }
    [[nodiscard]] const Curses& curses() const { return curses_; }
    [[nodiscard]] Instant opened() const { return opened_; }
    [[nodiscard]] Instant calm_at() const { return opened_ + plan_.calm_at; }
    [[nodiscard]] Instant now() const { return now_; }
    [[nodiscard]] Random random(Topic topic, std::uint64_t who, std::uint64_t which = 0) const {
        return random_of(plan_.seed, topic, who, which);
    }

    /// `key` says whose act it is. It decides the order among acts of one instant.
    void after(Duration wait, std::uint64_t key, Agenda::Act act) {
        at(now_ + wait, key, std::move(act));
    }
    void at(Instant when, std::uint64_t key, Agenda::Act act);

    /// Sends an event to the engine now. While a fault of the shell lasts, the event may come
    /// twice, late, or again much later.
    void tell(const Event& event);

    /// Does what comes next, up to and including `until`: one act, or one TimePassed if the
    /// engine's deadline comes first. Returns false, and moves the clock to `until`, if nothing is
    /// left to do.
    [[nodiscard]] bool step(Instant deadline, Instant until);

    /// Records that the engine did something that makes no sense. Only the first complaint is kept.
    void complain(std::string invariant, std::string detail);
    [[nodiscard]] const std::optional<Violation>& complaint() const { return complaint_; }

private:
    struct ShellFaultPeriod {
        ShellFault fault;
        Instant from;
        Instant until;
    };

    [[nodiscard]] const ShellFault* shell_fault() const;
    [[nodiscard]] Instant wake_time(Instant deadline) const;

    const Plan& plan_;
    Listener listener_;
    Instant opened_;
    Instant now_;
    Curses curses_;
    std::vector<ShellFaultPeriod> shell_faults_;
    Agenda agenda_;
    std::optional<Violation> complaint_;
};

}  // namespace turnpike::sim
