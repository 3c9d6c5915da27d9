#include "serve/driver.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "base/check.h"

namespace turnpike {

Driver::Driver(boost::asio::io_context& loop, Engine& engine, Clock& clock, Wakeups& wakeups)
    : engine_(engine), clock_(clock), wakeups_(wakeups), alarm_(loop) {}

void Driver::turn() {
    if (events_.empty() && wakeups_.empty()) return;
    CHECK(!std::exchange(is_turning_, true));
    handle_events();
    while (!wakeups_.empty()) {
        wakeups_.wake_first();
        handle_events();
    }
    is_turning_ = false;
    set_alarm();
}

/// Handles the queued events, and then ends the jobs that wait for it, until neither is left.
void Driver::handle_events() {
    for (std::size_t next = 0; next < events_.size();) {
        const Event event = events_[next++];  // a copy, because more may be queued meanwhile
        actions_.clear();
        engine_.handle(event, clock_.now(), actions_);
        for (const Action& action : actions_) carry_out(action);
        if (next == events_.size()) end_jobs();
    }
    events_.clear();
}

void Driver::carry_out(const Action& action) {
    if (const auto* end = std::get_if<EndJob>(&action)) return ends_.push_back(*end);
    if (!std::holds_alternative<SendJob>(action)) end_jobs();
    carry_out_(action);
}

void Driver::end_jobs() {
    for (const EndJob& end : ends_) carry_out_(end);
    ends_.clear();
}

/// Sets the alarm again only if the deadline is earlier than the alarm. An alarm that rings too
/// early just looks at the clock, so a deadline that moves to a later time costs nothing.
void Driver::set_alarm() {
    const Instant due = engine_.next_deadline();
    if (due >= alarm_at_) return;
    alarm_at_ = due;
    alarm_.expires_after(std::max<Duration>(due - clock_.now(), Duration::zero()));
    alarm_.async_wait([this](boost::system::error_code error) {
        if (error) return;
        alarm_at_ = never;
        deliver(TimePassed{});
    });
}

}  // namespace turnpike
