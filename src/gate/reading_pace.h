// How fast a client takes what is written to it, and whether that is too slow.
//
// What the socket took says nothing: a send buffer of 4 MiB is full at once, and then takes nothing
// for a minute, although the client reads 64 KiB/s. So what counts is what left the send buffer. And
// that moves in steps, because the client's kernel opens its window only when much was read. So a
// client that is ahead of its time may rest:
//
//   balance += bytes that it took − rate × time while something waited for it
//   balance  = at most what `ahead_max()` says. Below minus one window: too slow
//
// A client's kernel may take hundreds of KiB at once and then nothing until its program has read most
// of that. So a client may be ahead by that much, however low the minimum rate is. But while a lane
// waits for the client, it may be ahead by three windows only: a client that reads nothing must not
// hold a lane for minutes.
//
// Time in which nothing waited for the client does not count.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/time.h"

namespace turnpike {

/// The slowest client that is accepted.
struct RateRule {
    Bytes per_second;  // 0 means that every client is accepted
    Duration window = 10s;

    [[nodiscard]] std::int64_t bytes_in(Duration time) const {
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
        return static_cast<std::int64_t>(per_second.count) * ms / 1000;
    }
};

/// What waits for a client.
enum class Held : std::uint8_t {
    answer,  // what was made of its answer
    lane,    // also the worker, because there is no more room for the answer
};

class ReadingPace {
public:
    /// Returns by how many bytes a client may be ahead.
    [[nodiscard]] static std::int64_t ahead_max(const RateRule& rule, Held held) {
        constexpr auto buffer = std::int64_t{512} * 1024;
        const std::int64_t windows = 3 * rule.bytes_in(rule.window);
        return held == Held::lane ? windows : std::max(windows, buffer);
    }

    /// Begins a new answer. What the client still has to take of earlier ones is not forgotten.
    void begin_answer() {
        taken_before_ = taken_;
        waited_ = Duration::zero();
    }
    void wrote(std::size_t size) { written_ += size; }
    /// Returns how many bytes were written since the client was last seen to have taken all.
    [[nodiscard]] std::uint64_t unseen() const { return written_ - taken_; }

    /// Must be called when something begins to wait for the client, and when nothing does any more.
    /// A second call changes nothing.
    void start_clock(Instant now) {
        if (!looked_at_) looked_at_ = now;
    }
    void stop_clock(Instant now) {
        if (looked_at_) waited_ += std::max(now - *looked_at_, Duration::zero());
        looked_at_.reset();
    }

    /// Notes how many of the bytes are still in the send buffer.
    void look(std::size_t unsent, const RateRule& rule, Instant now) {
        const std::uint64_t taken = written_ - std::min<std::uint64_t>(unsent, written_);
        const std::uint64_t step = taken > taken_ ? taken - taken_ : 0;
        taken_ += step;
        const Duration time = looked_at_ ? now - *looked_at_ : Duration::zero();
        if (looked_at_) {
            waited_ += std::max(time, Duration::zero());
            looked_at_ = now;
        }
        // If we come late, it was not the client that rested.
        const Duration counted = std::clamp(time, Duration::zero(), rule.window / 2);
        const std::uint64_t gain = std::min<std::uint64_t>(step, 1ULL << 60U);
        for (const Held held : {Held::answer, Held::lane}) {
            std::int64_t& balance = balances_[index(held)];
            balance += static_cast<std::int64_t>(gain) - rule.bytes_in(counted);
            balance = std::min(balance, ahead_max(rule, held));
            if (unsent == 0) balance = std::max<std::int64_t>(balance, 0);  // it owes nothing
        }
    }
    [[nodiscard]] bool is_too_slow(const RateRule& rule, Held held) const {
        return balances_[index(held)] < -rule.bytes_in(rule.window);
    }

    /// Returns how many bytes per second the client took of this answer while something waited for
    /// it. An answer that has just begun counts as quick.
    [[nodiscard]] std::uint64_t rate() const {
        constexpr std::uint64_t head_start = mebibyte.count;
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(waited_ + 1s).count();
        return (taken_ - taken_before_ + head_start) * 1000 / static_cast<std::uint64_t>(ms);
    }

private:
    static constexpr std::size_t index(Held held) { return static_cast<std::size_t>(held); }

    std::uint64_t written_ = 0;  // all counts are those of the connection
    std::uint64_t taken_ = 0;    // as far as we have looked
    std::uint64_t taken_before_ = 0;
    std::array<std::int64_t, 2> balances_{};  // index: Held
    Duration waited_ = Duration::zero();
    std::optional<Instant> looked_at_;  // nullopt while the clock stands
};

}  // namespace turnpike
