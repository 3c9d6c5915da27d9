// What all answers of a gate hold while they wait for their readers. Each answer reports its share,
// and whoever watches is woken when the sum goes beyond its maximum (gate/answer_room).
#pragma once

#include <cstdint>
#include <utility>

#include "base/bytes.h"
#include "base/wakeups.h"

namespace turnpike {

struct AnswerShare {
    std::uint64_t memory = 0;
    std::uint64_t spooled =
        0;                     // the size of its spool file, which does not shrink while it is used
    std::uint64_t passed = 0;  // the size of the file that a native worker passed

    [[nodiscard]] std::uint64_t total() const { return memory + spooled + passed; }
};

class AnswerAccount {
public:
    static constexpr Bytes no_max{~std::uint64_t{0}};

    explicit AnswerAccount(Wakeups& wakeups, Bytes max = no_max) : wakeups_(wakeups), max_(max) {}
    AnswerAccount(const AnswerAccount&) = delete;
    AnswerAccount& operator=(const AnswerAccount&) = delete;

    /// The watcher is woken in the turn in which the sum goes beyond the maximum. nullptr: nobody.
    void set_watcher(Sleeper* watcher) { watcher_ = watcher; }

    /// Replaces the share of an answer.
    void replace(AnswerShare& share, const AnswerShare& by) {
        held_ = held_ - share.total() + by.total();
        spooled_ = spooled_ - share.spooled + by.spooled;
        share = by;
        if (is_over() && watcher_ != nullptr) wakeups_.add(*watcher_);
    }

    [[nodiscard]] bool is_over() const { return held_ > max_.count; }
    [[nodiscard]] Bytes held() const { return Bytes{held_}; }
    /// Returns how much of it is on disk.
    [[nodiscard]] Bytes spooled() const { return Bytes{spooled_}; }

private:
    Wakeups& wakeups_;
    const Bytes max_;
    Sleeper* watcher_ = nullptr;
    std::uint64_t held_ = 0;
    std::uint64_t spooled_ = 0;
};

}  // namespace turnpike
