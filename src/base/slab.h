// A slab: objects at stable addresses, found by id in constant time. The places of removed objects
// are reused. An id holds the place and how often it was used before, so a stale id finds nothing.
// A slab grows by chunks and never shrinks, so a steady state allocates nothing.
//
//   Slab<Job, JobId> jobs;
//   Job& job = jobs.add();            // job.id is set
//   if (Job* found = jobs.find(id))   // nullptr once removed
//   jobs.remove(job);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"

namespace turnpike {

template <class Thing, class ThingId>
class Slab {
public:
    /// Returns a new Thing with only its `id` set.
    Thing& add() {
        if (free_.empty()) grow();
        const std::uint32_t index = free_.back();
        free_.pop_back();
        Place& place = at(index);
        place.thing = Thing{};
        place.thing.id = ThingId{(std::uint64_t{place.uses} << 32) | index};
        place.is_taken = true;
        ++count_;
        return place.thing;
    }

    void remove(Thing& thing) {
        const auto index = static_cast<std::uint32_t>(thing.id.value);
        Place& place = at(index);
        CHECK(place.is_taken && &place.thing == &thing);
        place.is_taken = false;
        ++place.uses;
        free_.push_back(index);
        --count_;
    }

    [[nodiscard]] Thing* find(ThingId id) {
        const std::uint64_t index = id.value & 0xFFFF'FFFF;
        if (index >= chunks_.size() * chunk_size) return nullptr;
        Place& place = at(static_cast<std::uint32_t>(index));
        return place.is_taken && place.thing.id == id ? &place.thing : nullptr;
    }

    [[nodiscard]] const Thing* find(ThingId id) const { return const_cast<Slab*>(this)->find(id); }

    [[nodiscard]] std::size_t size() const { return count_; }

    /// Visits every Thing in the order of places. `visit` may remove the Thing that it gets.
    template <class Visit>
    void each(Visit visit) {
        for (std::size_t index = 0; index < chunks_.size() * chunk_size; ++index) {
            Place& place = at(static_cast<std::uint32_t>(index));
            if (place.is_taken) visit(place.thing);
        }
    }

private:
    struct Place {
        Thing thing;
        std::uint32_t uses = 0;
        bool is_taken = false;
    };
    static constexpr std::size_t chunk_size = 64;

    Place& at(std::uint32_t index) { return (*chunks_[index / chunk_size])[index % chunk_size]; }

    void grow() {
        const std::size_t first = chunks_.size() * chunk_size;
        CHECK(first + chunk_size < 0xFFFF'FFFF);
        chunks_.push_back(std::make_unique<std::array<Place, chunk_size>>());
        for (std::size_t i = chunk_size; i > 0; --i)
            free_.push_back(static_cast<std::uint32_t>(first + i - 1));
    }

    std::vector<std::unique_ptr<std::array<Place, chunk_size>>> chunks_;
    std::vector<std::uint32_t> free_;
    std::size_t count_ = 0;
};

}  // namespace turnpike
