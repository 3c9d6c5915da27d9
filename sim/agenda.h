// What the world will do, in order of time. Acts of one instant come in the order of their ties,
// which the caller draws at random, so that both orders of a race occur. Acts with equal ties come
// in the order in which they were added. The order is total, so it does not depend on the heap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace turnpike::sim {

class Agenda {
public:
    using Act = std::function<void()>;

    void add(Instant at, std::uint64_t tie, Act act) {
        items_.push_back({.at = at, .tie = tie, .order = added_++, .act = std::move(act)});
        std::ranges::push_heap(items_, comes_later);
    }

    /// Returns the time of the next act, or `never` if there is none.
    [[nodiscard]] Instant next() const { return items_.empty() ? never : items_.front().at; }
    [[nodiscard]] std::uint64_t next_tie() const { return items_.empty() ? 0 : items_.front().tie; }

    [[nodiscard]] Act pop() {
        CHECK(!items_.empty());
        std::ranges::pop_heap(items_, comes_later);
        Act act = std::move(items_.back().act);
        items_.pop_back();
        return act;
    }

private:
    struct Item {
        Instant at;
        std::uint64_t tie = 0;
        std::uint64_t order = 0;
        Act act;
    };

    static bool comes_later(const Item& a, const Item& b) {
        if (a.at != b.at) return a.at > b.at;
        if (a.tie != b.tie) return a.tie > b.tie;
        return a.order > b.order;
    }

    std::vector<Item> items_;
    std::uint64_t added_ = 0;
};

}  // namespace turnpike::sim
