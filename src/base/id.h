// Strong ids. An Id<Tag> names one object of one kind; ids of different kinds do not mix. Ids of
// lanes and pools are plain indices. Ids of jobs, attempts and workers (objects in a slab) pair an
// index with the number of times that place was used, so the id of a removed object never finds the
// object that took its place.
#pragma once

#include <compare>
#include <cstdint>

namespace turnpike {

template <class Tag>
struct Id {
    std::uint64_t value = none_value;

    static constexpr std::uint64_t none_value = ~std::uint64_t{0};

    [[nodiscard]] constexpr bool is_none() const { return value == none_value; }
    friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace turnpike
