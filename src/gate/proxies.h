// For whom a proxy forwards a request. Only proxies that gate.trusted_proxies names are believed:
// anybody else may write into Forwarded and X-Forwarded-For what he likes.
//
// The list of hops is read from its end, the side of the gate. The first address that is not a
// trusted proxy is the client; if all are, the one farthest away. A hop that hides its address
// (unknown, _hidden), or that can't be parsed, ends the search: then the proxy that wrote it counts
// as the client. If a request has both lists and they name different clients, neither counts, because
// most proxies write only one of them and pass on whatever their client put into the other.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "config/network.h"
#include "gate/access.h"
#include "http/forwarded.h"
#include "http/message.h"

namespace turnpike {

class TrustedProxies {
public:
    /// How many hops are looked at. More are taken as hidden.
    static constexpr std::size_t hops_max = 32;

    explicit TrustedProxies(const ProxyTrust& trust) : trust_(trust) {}

    /// Returns the address of the client for whom the peer forwards the request. Nullopt if the
    /// peer itself is the client: it is no trusted proxy, or does not say for whom it forwards.
    /// `address` is that of the peer, empty for the Unix socket.
    [[nodiscard]] std::optional<std::string> client_of(http::Fields fields, Entrance entrance,
                                                       std::string_view address) const;

    /// True if requests of this peer may be those of others.
    [[nodiscard]] bool is_trusted(Entrance entrance, std::string_view address) const;

private:
    [[nodiscard]] bool is_trusted(const IpAddress& address) const;
    [[nodiscard]] std::optional<IpAddress> client_in(http::Fields fields, http::HopList list) const;

    const ProxyTrust& trust_;
};

}  // namespace turnpike
