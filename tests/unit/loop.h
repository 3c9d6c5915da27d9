// A loop for tests of what is asynchronous: it runs until something holds, never for a time.
#pragma once

#include <chrono>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace turnpike {

class TestLoop {
public:
    [[nodiscard]] boost::asio::io_context& context() { return context_; }

    /// False: it never came to that (and the test would hang).
    template <class Condition>
    [[nodiscard]] bool run_until(Condition holds) {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!holds()) {
            if (std::chrono::steady_clock::now() > give_up) return false;
            context_.run_one_for(std::chrono::milliseconds(100));
        }
        return true;
    }

    /// What is ready now, and what becomes ready by it.
    void poll() { context_.poll(); }

private:
    boost::asio::io_context context_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> stays_{
        context_.get_executor()};
};

}  // namespace turnpike
