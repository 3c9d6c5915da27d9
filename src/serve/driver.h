// One turn of the wheel. Whatever happens is queued as an event. After each handler of the loop the
// server calls turn(), which takes the events one by one: event → engine → actions → carried out.
//
// Carrying out an action may queue further events, but never calls the engine. So whoever delivers an
// event finds the world unchanged when deliver() returns. The order of a turn:
//
//   1. Events, in the order in which they came. Their actions are carried out in the engine's order,
//      with one exception: the ends of jobs (EndJob) wait while jobs are sent to workers, so that no
//      lane waits while clients are answered. They precede every other action, since an id that
//      has ended may be used again.
//   2. The ends of jobs that still wait.
//   3. Wake-ups (base/wakeups.h), one at a time, each followed by the events that it caused.
#pragma once

#include <functional>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/wakeups.h"
#include "core/action.h"
#include "core/engine.h"
#include "core/event.h"
#include "os/clock.h"

namespace turnpike {

class Driver {
public:
    using CarryOut = std::function<void(const Action&)>;

    Driver(boost::asio::io_context& loop, Engine& engine, Clock& clock, Wakeups& wakeups);

    /// Must be called before the first turn.
    void set_carry_out(CarryOut carry_out) { carry_out_ = std::move(carry_out); }
    /// Queues the event for this turn.
    void deliver(const Event& event) { events_.push_back(event); }
    /// Handles everything that is queued, and what comes up meanwhile. Must be called after each
    /// handler of the loop, and never from within an action.
    void turn();

private:
    void handle_events();
    void carry_out(const Action& action);
    void end_jobs();
    void set_alarm();

    Engine& engine_;
    Clock& clock_;
    Wakeups& wakeups_;
    CarryOut carry_out_;
    boost::asio::steady_timer alarm_;
    Instant alarm_at_ = never;
    bool is_turning_ = false;    // only CHECKed: nothing may call turn() from within a turn
    std::vector<Event> events_;  // of this turn
    Actions actions_;
    std::vector<EndJob> ends_;  // not carried out yet
};

}  // namespace turnpike
