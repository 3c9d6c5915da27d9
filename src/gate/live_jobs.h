// Finds the connection that waits for a job.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/words.h"

namespace turnpike {

template <class Owner>
class LiveJobs {
public:
    void add(JobId job, Owner& owner) {
        const std::size_t place = place_of(job);
        if (place >= by_place_.size()) by_place_.resize(place + 1);
        by_place_[place] = {.job = job, .owner = &owner};
    }
    void remove(JobId job) {
        if (find(job) != nullptr) by_place_[place_of(job)] = {};
    }
    /// Returns nullptr if nobody waits for the job.
    [[nodiscard]] Owner* find(JobId job) const {
        const std::size_t place = place_of(job);
        if (place >= by_place_.size() || by_place_[place].job != job) return nullptr;
        return by_place_[place].owner;
    }
    [[nodiscard]] bool empty() const {
        return std::ranges::all_of(by_place_,
                                   [](const Entry& entry) { return entry.owner == nullptr; });
    }
    template <class Visit>
    void for_each(Visit visit) const {
        for (const Entry& entry : by_place_)
            if (entry.owner != nullptr) visit(*entry.owner);
    }

private:
    struct Entry {
        JobId job;
        Owner* owner = nullptr;
    };

    static std::size_t place_of(JobId job) { return static_cast<std::uint32_t>(job.value); }

    std::vector<Entry> by_place_;  // index: the low half of a job's id; ids are dense
};

}  // namespace turnpike
