#include "config/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace turnpike {
namespace {

using Problem = std::unexpected<std::string>;

constexpr std::array<std::uint8_t, 12> mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr unsigned mapped_bits = 96;

bool is_ipv4(const IpAddress& address) {
    return std::equal(mapped_prefix.begin(), mapped_prefix.end(), address.bytes.begin());
}

/// Returns a mask for the byte at `index` of an address whose first `bits` bits count.
std::uint8_t mask_of(std::size_t index, unsigned bits) {
    const auto before = static_cast<unsigned>(index * 8);
    if (bits <= before) return 0;
    if (bits >= before + 8) return 0xff;
    return static_cast<std::uint8_t>(0xff00U >> (bits - before));
}

}  // namespace

std::optional<IpAddress> parse_ip(std::string_view text) {
    std::array<char, INET6_ADDRSTRLEN> terminated{};
    if (text.size() >= terminated.size() || text.contains('\0')) return std::nullopt;
    text.copy(terminated.data(), text.size());
    IpAddress address;
    if (text.contains(':')) {
        if (::inet_pton(AF_INET6, terminated.data(), address.bytes.data()) != 1)
            return std::nullopt;
        return address;
    }
    std::ranges::copy(mapped_prefix, address.bytes.begin());
    if (::inet_pton(AF_INET, terminated.data(), &address.bytes[mapped_prefix.size()]) != 1)
        return std::nullopt;
    return address;
}

std::string text_of(const IpAddress& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const bool is_v4 = is_ipv4(address);
    const std::uint8_t* bytes = &address.bytes[is_v4 ? mapped_prefix.size() : 0];
    ::inet_ntop(is_v4 ? AF_INET : AF_INET6, bytes, text.data(), text.size());
    return text.data();
}

std::expected<Network, std::string> parse_network(std::string_view text) {
    const std::size_t slash = std::min(text.find('/'), text.size());
    const auto address = parse_ip(text.substr(0, slash));
    if (!address)
        return Problem("must be an IP address or a network, such as 127.0.0.1 or 10.0.0.0/8");
    Network network{.first = *address};
    if (slash == text.size()) return network;
    const std::string_view length = text.substr(slash + 1);
    const bool is_v4_text = !text.contains(':');
    unsigned bits = 0;
    const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bits);
    const unsigned bits_max = is_v4_text ? 32 : 128;
    if (error != std::errc{} || end != length.data() + length.size() || bits > bits_max)
        return Problem("must have a number from 1 to " + std::to_string(bits_max) +
                       " after its slash");
    if (bits == 0) return Problem("must not be the whole internet");
    if (is_v4_text) bits += mapped_bits;
    for (std::size_t i = 0; i < network.first.bytes.size(); ++i)
        network.first.bytes[i] &= mask_of(i, bits);
    if (network.first != *address)
        return Problem("has bits after its prefix; the network is " + text_of(network.first) + "/" +
                       std::string(length));
    network.bits = static_cast<std::uint8_t>(bits);
    return network;
}

bool contains(const Network& network, const IpAddress& address) {
    for (std::size_t i = 0; i < address.bytes.size(); ++i)
        if ((address.bytes[i] & mask_of(i, network.bits)) != network.first.bytes[i]) return false;
    return true;
}

}  // namespace turnpike
