// A map from numbers to values, for a small set that changes often. It uses open addressing in one
// array that only grows, so that it stops allocating once it is large enough.
//
//     Numbered<State> jobs;
//     jobs.add(7) = …;                             // CHECKs that 7 is not there yet
//     if (State* state = jobs.find(7)) …           // valid until the next add() or remove()
//     jobs.remove(7);
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace turnpike::wire {

template <class Value>
class Numbered {
public:
    Value& add(std::uint64_t number) {
        CHECK(find(number) == nullptr);
        if (2 * (count_ + 1) > places_.size()) grow();
        ++count_;
        return put(number, {});
    }

    [[nodiscard]] Value* find(std::uint64_t number) {
        if (places_.empty()) return nullptr;
        for (std::size_t at = home_of(number); places_[at].is_taken; at = after(at))
            if (places_[at].number == number) return &places_[at].value;
        return nullptr;
    }

    /// Returns true if the number was there.
    bool remove(std::uint64_t number) {
        if (find(number) == nullptr) return false;
        std::size_t gap = home_of(number);
        while (places_[gap].number != number) gap = after(gap);
        close(gap);
        --count_;
        return true;
    }

    [[nodiscard]] std::size_t size() const { return count_; }

private:
    struct Place {
        std::uint64_t number = 0;
        Value value{};
        bool is_taken = false;
    };

    /// Fills the gap with later entries of the same run, unless an entry's home is after the gap.
    void close(std::size_t gap) {
        const std::size_t mask = places_.size() - 1;
        for (std::size_t at = after(gap); places_[at].is_taken; at = after(at)) {
            const std::size_t from_home = (at - home_of(places_[at].number)) & mask;
            if (from_home < ((at - gap) & mask)) continue;
            places_[gap] = places_[at];
            gap = at;
        }
        places_[gap] = {};
    }

    void grow() {
        const std::vector<Place> old(std::move(places_));
        places_.assign(old.empty() ? 16 : 2 * old.size(), {});
        for (const Place& place : old)
            if (place.is_taken) put(place.number, place.value);
    }

    Value& put(std::uint64_t number, const Value& value) {
        std::size_t at = home_of(number);
        while (places_[at].is_taken) at = after(at);
        places_[at] = {.number = number, .value = value, .is_taken = true};
        return places_[at].value;
    }

    [[nodiscard]] std::size_t home_of(std::uint64_t number) const {
        const std::uint64_t mixed = number * 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
        return static_cast<std::size_t>(mixed >> 32) & (places_.size() - 1);
    }
    [[nodiscard]] std::size_t after(std::size_t at) const {
        return (at + 1) & (places_.size() - 1);
    }

    std::vector<Place> places_;  // the size is a power of two; at most half are taken
    std::size_t count_ = 0;
};

}  // namespace turnpike::wire
