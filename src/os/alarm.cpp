#include "os/alarm.h"

#include <chrono>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace turnpike {

namespace {

/// The loop may already hold the callback of a timer that is cancelled, so callbacks own this state
/// and compare their number.
struct LoopAlarmState {
    explicit LoopAlarmState(boost::asio::io_context& loop) : timer(loop) {}

    boost::asio::steady_timer timer;
    std::uint64_t number = 0;  // of the latest set() or cancel()
    std::move_only_function<void()> then;
};

class LoopBell final : public Bell {
public:
    explicit LoopBell(boost::asio::io_context& loop)
        : state_(std::make_shared<LoopAlarmState>(loop)) {}
    ~LoopBell() override { cancel(); }
    LoopBell(const LoopBell&) = delete;
    LoopBell& operator=(const LoopBell&) = delete;

    void set(Duration wait, std::move_only_function<void()> then) override {
        state_->then = std::move(then);
        state_->timer.expires_after(wait);
        state_->timer.async_wait(
            [state = state_, number = ++state_->number](boost::system::error_code error) {
                if (error || state->number != number) return;
                std::exchange(state->then, nullptr)();
            });
    }
    void cancel() override {
        ++state_->number;
        state_->then = nullptr;
        state_->timer.cancel();
    }

private:
    std::shared_ptr<LoopAlarmState> state_;
};

}  // namespace

std::unique_ptr<Bell> LoopAlarms::make_bell() { return std::make_unique<LoopBell>(loop_); }

}  // namespace turnpike
