// Calls a function later. Timers are made by a Timers: the real one uses the loop (LoopTimers), a
// test's one has a clock that only the test moves.
//
//   Timer patience_{timers};
//   patience_.set(2s, [this] { give_up(); });
//
// The function is called from the loop, at most once for each set(). It is never called after
// cancel(), after another set(), or after the timer was destroyed, so it may use its owner freely.
#pragma once

#include <functional>
#include <memory>

#include "base/time.h"

namespace boost::asio {
class io_context;
}

namespace turnpike {

/// One timer behind a Timer. Keeps the promises that the top of this file makes.
class Alarm {
public:
    virtual ~Alarm() = default;
    virtual void set(Duration wait, std::move_only_function<void()> then) = 0;
    virtual void cancel() = 0;
};

class Timers {
public:
    virtual ~Timers() = default;
    [[nodiscard]] virtual std::unique_ptr<Alarm> make_alarm() = 0;
};

class LoopTimers final : public Timers {
public:
    explicit LoopTimers(boost::asio::io_context& loop) : loop_(loop) {}
    [[nodiscard]] std::unique_ptr<Alarm> make_alarm() override;

private:
    boost::asio::io_context& loop_;
};

class Timer {
public:
    explicit Timer(Timers& timers) : alarm_(timers.make_alarm()) {}

    /// Calls `then` after `wait`. A function that was set before is not called any more.
    void set(Duration wait, std::move_only_function<void()> then) {
        alarm_->set(wait, std::move(then));
    }
    void cancel() { alarm_->cancel(); }

private:
    std::unique_ptr<Alarm> alarm_;
};

}  // namespace turnpike
