// A clock that only the test moves, and timers that ring by it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/time.h"
#include "os/alarm.h"
#include "os/clock.h"

namespace turnpike {

class VirtualTime final : public Alarms {
public:
    [[nodiscard]] std::unique_ptr<Bell> make_bell() override {
        return std::make_unique<VirtualBell>(*this);
    }
    [[nodiscard]] Clock& clock() { return clock_; }
    [[nodiscard]] Instant now() const { return now_; }

    /// Moves the clock on, and calls the timers that ring meanwhile, each at its time. Calls
    /// `after_each` after each of them, as the driver drains after each handler of the loop.
    void advance(Duration time, const std::function<void()>& after_each = [] {}) {
        const Instant end = now_ + time;
        while (!waiting_.empty() && waiting_.begin()->first <= end) {
            const auto first = waiting_.begin();
            set_now(first->first);
            VirtualBell& alarm = *first->second;
            waiting_.erase(first);
            alarm.is_set = false;
            std::exchange(alarm.then, nullptr)();
            after_each();
        }
        set_now(end);
    }
    /// Returns how many timers are set.
    [[nodiscard]] std::size_t alarms_set() const { return waiting_.size(); }

private:
    struct VirtualBell final : Bell {
        explicit VirtualBell(VirtualTime& owner) : time(owner) {}
        ~VirtualBell() override { cancel(); }
        VirtualBell(const VirtualBell&) = delete;
        VirtualBell& operator=(const VirtualBell&) = delete;

        void set(Duration wait, std::move_only_function<void()> what) override {
            cancel();
            then = std::move(what);
            place = time.waiting_.emplace(time.now_ + wait, this);
            is_set = true;
        }
        void cancel() override {
            if (std::exchange(is_set, false)) time.waiting_.erase(place);
            then = nullptr;
        }

        VirtualTime& time;
        std::move_only_function<void()> then;
        std::multimap<Instant, VirtualBell*>::iterator place;
        bool is_set = false;
    };

    void set_now(Instant now) {
        now_ = now;
        clock_.forget();
    }

    Instant now_{std::chrono::hours(1)};
    std::multimap<Instant, VirtualBell*> waiting_;
    Clock clock_{[this] { return now_; }};
};

}  // namespace turnpike
