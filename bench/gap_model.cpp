// A model that does nothing, or computes for WORK_US microseconds. It measures how long it was idle
// between two jobs: from the end of predict() to the beginning of the next. GET /gaps answers
// "p50 p99" in microseconds, for the gaps since the last GET /gaps.
#include <turnpike/worker.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

class Gap : public turnpike::Model {
public:
    turnpike::Answer predict(const turnpike::Request&) override {
        const Clock::time_point start = Clock::now();
        if (ended_ != Clock::time_point()) gaps_.push_back(start - ended_);
        while (Clock::now() - start < work_) {
        }
        turnpike::Answer answer(R"({"answer": 42})");
        ended_ = Clock::now();
        return answer;
    }

    turnpike::Answer request(const turnpike::Request&) override {
        std::ranges::sort(gaps_);
        const auto at = [this](double part) {
            if (gaps_.empty()) return 0.0;
            const double place = part * static_cast<double>(gaps_.size() - 1);
            return std::chrono::duration<double, std::micro>(gaps_[static_cast<std::size_t>(place)])
                .count();
        };
        char text[64];
        std::snprintf(text, sizeof text, "%.2f %.2f\n", at(0.5), at(0.99));
        gaps_.clear();
        ended_ = {};
        return {text};
    }

private:
    static std::chrono::microseconds work_us() {
        const char* text = std::getenv("WORK_US");
        return std::chrono::microseconds(text == nullptr ? 0 : std::atoi(text));
    }

    const std::chrono::microseconds work_ = work_us();
    std::vector<Clock::duration> gaps_;
    Clock::time_point ended_;
};

}  // namespace

int main() { return turnpike::serve<Gap>(); }
