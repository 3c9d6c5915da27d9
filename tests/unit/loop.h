// A loop for tests of what is asynchronous: it runs until something holds, never for a time.
//
// After each handler it calls turn(), as the server lets the driver have its turn.
#pragma once

#include <chrono>
#include <functional>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "base/wakeups.h"

namespace turnpike {

class TestLoop {
public:
    [[nodiscard]] boost::asio::io_context& context() { return context_; }
    [[nodiscard]] Wakeups& wakeups() { return wakeups_; }
    /// Handles the events that a test collects. The tests play the engine.
    std::function<void()> handle_events = [] {};

    void turn() {
        handle_events();
        while (!wakeups_.empty()) {
            wakeups_.wake_first();
            handle_events();
        }
    }

    /// False: it never came to that (and the test would hang).
    template <class Condition>
    [[nodiscard]] bool run_until(Condition holds) {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        turn();
        while (!holds()) {
            if (std::chrono::steady_clock::now() > give_up) return false;
            context_.run_one_for(std::chrono::milliseconds(100));
            turn();
        }
        return true;
    }

    /// What is ready now, and what becomes ready by it.
    void poll() {
        turn();
        while (context_.poll_one() > 0) turn();
    }

private:
    Wakeups wakeups_;
    boost::asio::io_context context_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> stays_{
        context_.get_executor()};
};

}  // namespace turnpike
