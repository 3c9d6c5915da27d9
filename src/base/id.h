// Strong ids. An Id<Tag> names one thing of one kind; ids of different kinds do not mix. Dense ids
// (lanes, pools) are plain indices. Slab ids (jobs, attempts, workers) pair an index with the
// number of times that place was used, so an id of something that is gone never finds its
// successor.
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
