// The turn of the wheel: hands events to the engine, and what it wants to whoever does it.
//
// Whoever carries out an action may have news at once; these wait until the actions of the event
// before are done, so that each is carried out in the order in which the engine wanted it. Only the
// jobs that are sent overtake those that end: a lane shall not wait while its last client is answered.
#pragma once

#include <functional>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/action.h"
#include "core/engine.h"
#include "core/event.h"
#include "os/clock.h"

namespace turnpike {

class Driver {
public:
    using CarryOut = std::function<void(const Action&)>;

    Driver(boost::asio::io_context& loop, Engine& engine, Clock& clock);

    /// Before the first event.
    void set_hands(CarryOut carry_out) { carry_out_ = std::move(carry_out); }
    void deliver(const Event& event);

private:
    void handle(const Event& event);
    void carry_out_ends();
    void set_alarm();

    Engine& engine_;
    Clock& clock_;
    CarryOut carry_out_;
    boost::asio::steady_timer alarm_;
    Instant alarm_at_ = never;
    bool is_busy_ = false;
    std::vector<Event> waiting_;
    std::size_t waiting_done_ = 0;
    Actions actions_;
    std::vector<const EndJob*> ends_;  // of actions_, not carried out yet
};

}  // namespace turnpike
