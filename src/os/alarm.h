// Calls a function later. Alarms are made by an Alarms: the real one uses the loop (LoopAlarms), a
// test's one has a clock that only the test moves.
//
//   Alarm patience_{alarms};
//   patience_.set(2s, [this] { give_up(); });
//
// The function is called from the loop, at most once for each set(). It is never called after
// cancel(), after another set(), or after the alarm was destroyed, so it may use its owner freely.
#pragma once

#include <functional>
#include <memory>

#include "base/time.h"

namespace boost::asio {
class io_context;
}

namespace turnpike {

/// One timer behind an Alarm. Keeps the promises that the top of this file makes.
class Bell {
public:
    virtual ~Bell() = default;
    virtual void set(Duration wait, std::move_only_function<void()> then) = 0;
    virtual void cancel() = 0;
};

class Alarms {
public:
    virtual ~Alarms() = default;
    [[nodiscard]] virtual std::unique_ptr<Bell> make_bell() = 0;
};

class LoopAlarms final : public Alarms {
public:
    explicit LoopAlarms(boost::asio::io_context& loop) : loop_(loop) {}
    [[nodiscard]] std::unique_ptr<Bell> make_bell() override;

private:
    boost::asio::io_context& loop_;
};

class Alarm {
public:
    explicit Alarm(Alarms& alarms) : bell_(alarms.make_bell()) {}

    /// Calls `then` after `wait`. A function that was set before is not called any more.
    void set(Duration wait, std::move_only_function<void()> then) {
        bell_->set(wait, std::move(then));
    }
    void cancel() { bell_->cancel(); }

private:
    std::unique_ptr<Bell> bell_;
};

}  // namespace turnpike
