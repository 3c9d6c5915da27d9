#include "serve/driver.h"

#include <algorithm>
#include <chrono>

namespace turnpike {

Driver::Driver(boost::asio::io_context& loop, Engine& engine, Clock& clock)
    : engine_(engine), clock_(clock), alarm_(loop) {}

void Driver::deliver(const Event& event) {
    if (is_busy_) {
        waiting_.push_back(event);
        return;
    }
    is_busy_ = true;
    handle(event);
    while (waiting_done_ < waiting_.size()) {
        const Event next = waiting_[waiting_done_++];
        handle(next);
    }
    waiting_.clear();
    waiting_done_ = 0;
    is_busy_ = false;
    set_alarm();
}

void Driver::handle(const Event& event) {
    actions_.clear();
    engine_.handle(event, clock_.now(), actions_);
    for (const Action& action : actions_) {
        if (const auto* end = std::get_if<EndJob>(&action)) {
            job_ends_.push_back(end);
            continue;
        }
        if (!std::holds_alternative<SendJob>(action)) carry_out_job_ends();
        carry_out_(action);
    }
    carry_out_job_ends();
}

void Driver::carry_out_job_ends() {
    for (const EndJob* end : job_ends_) carry_out_(*end);
    job_ends_.clear();
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
