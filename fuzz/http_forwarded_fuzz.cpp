// Any bytes as Forwarded and X-Forwarded-For: what the client put there never changes what the
// nearest proxy says, and every hop is a part of its list.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/http_properties.h"
#include "http/forwarded.h"

namespace {

using namespace turnpike::http;
using fuzz::require;

std::vector<std::string> hops_in(Fields fields, HopList list) {
    std::vector<std::string> found;
    Hops hops(fields, list);
    while (const auto hop = hops.next()) found.emplace_back(*hop);
    return found;
}

void check(std::string_view value, HopList list) {
    const bool has_parameters = list == HopList::forwarded;
    const std::string_view name = has_parameters ? "Forwarded" : "X-Forwarded-For";
    const std::string_view added = has_parameters ? "for=\"[2001:db8::7]:80\"" : "2001:db8::7";

    const Field alone{name, value};
    const auto hops = hops_in({&alone, 1}, list);
    require(hops.size() <= value.size(), "there are no more hops than bytes");
    for (const std::string& hop : hops) {
        require(value.contains(hop), "a hop is a part of the list");
        require(!hop.contains(',') || has_parameters, "a comma ends a hop");
    }

    const std::string longer = std::string(value) + ", " + std::string(added);
    const Field one{name, longer};
    auto with_another = hops_in({&one, 1}, list);
    require(!with_another.empty() && with_another.front() == "2001:db8::7",
            "what comes before changes nothing");

    const Field two[] = {{name, value}, {"Via", "x"}, {name, added}};
    with_another = hops_in(two, list);
    require(with_another.front() == "2001:db8::7", "so it is with two fields");
    with_another.erase(with_another.begin());
    require(with_another == hops, "the rest is as it was");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view value(reinterpret_cast<const char*>(data), size);
    check(value, HopList::forwarded);
    check(value, HopList::x_forwarded_for);
    return 0;
}
