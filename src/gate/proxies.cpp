#include "gate/proxies.h"

#include <algorithm>

namespace turnpike {

std::optional<std::string> TrustedProxies::client_of(http::Fields fields, Entrance entrance,
                                                     std::string_view address) const {
    if (!is_trusted(entrance, address)) return std::nullopt;
    using enum http::HopList;
    const auto by_forwarded = client_in(fields, forwarded);
    const auto by_x_forwarded_for = client_in(fields, x_forwarded_for);
    const bool has_both = has_hops(fields, forwarded) && has_hops(fields, x_forwarded_for);
    if (has_both && by_forwarded != by_x_forwarded_for) return std::nullopt;
    const auto& client = by_forwarded ? by_forwarded : by_x_forwarded_for;
    return client ? std::optional(text_of(*client)) : std::nullopt;
}

bool TrustedProxies::is_trusted(Entrance entrance, std::string_view address) const {
    if (entrance == Entrance::unix_socket) return trust_.unix_socket;
    if (trust_.networks.empty()) return false;
    const auto ip =
        parse_ip(address.substr(0, address.find('%')));  // a zone is only our name for a link
    return ip && is_trusted(*ip);
}

bool TrustedProxies::is_trusted(const IpAddress& address) const {
    return std::ranges::any_of(trust_.networks,
                               [&](const Network& network) { return contains(network, address); });
}

/// Returns the client that this list names, or nullopt if it names none.
std::optional<IpAddress> TrustedProxies::client_in(http::Fields fields, http::HopList list) const {
    http::Hops hops(fields, list);
    std::optional<IpAddress> farthest;  // of the hops that we believe
    for (std::size_t i = 0; i < hops_max; ++i) {
        const auto hop = hops.next();
        const auto address = hop ? parse_ip(*hop) : std::nullopt;
        if (!address) return farthest;
        farthest = address;
        if (!is_trusted(*address)) return farthest;
    }
    return farthest;
}

}  // namespace turnpike
