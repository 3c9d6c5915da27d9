// One turn of the wheel: passes each event to the engine, and each of the engine's actions to
// CarryOut.
//
// Carrying out an action may deliver further events. These wait until all actions of the current
// event are done, so actions are carried out in the order in which the engine gave them. There is
// one exception: a SendJob overtakes the EndJobs right before it, so that no lane waits while the
// client of its last job is answered.
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

    /// Must be called before the first event.
    void set_carry_out(CarryOut carry_out) { carry_out_ = std::move(carry_out); }
    void deliver(const Event& event);

private:
    void handle(const Event& event);
    void carry_out_job_ends();
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
    std::vector<const EndJob*> job_ends_;  // point into actions_; not carried out yet
};

}  // namespace turnpike
