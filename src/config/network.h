// IP addresses and networks of them, as people write them: "10.0.0.0/8", "127.0.0.1", "fd00::/8".
// An IPv4 address and its IPv4-mapped IPv6 address (::ffff:10.0.0.1) are the same.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike {

struct IpAddress {
    std::array<std::uint8_t, 16> bytes{};  // of IPv6; IPv4 is mapped into it
    friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

/// Parses an address without brackets, port and zone. Asks nobody, so it is safe for any text.
[[nodiscard]] std::optional<IpAddress> parse_ip(std::string_view);

/// Returns "10.0.0.1" or "2001:db8::1".
[[nodiscard]] std::string text_of(const IpAddress&);

struct Network {
    IpAddress first;
    std::uint8_t bits = 128;  // how many leading bits all its addresses share
    friend bool operator==(const Network&, const Network&) = default;
};

/// Parses an address, or an address and the length of its prefix. An error message is the second
/// half of a sentence.
[[nodiscard]] std::expected<Network, std::string> parse_network(std::string_view);

[[nodiscard]] bool contains(const Network& network, const IpAddress& address);

}  // namespace turnpike
