#include "os/command_line.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <string_view>

#include "os/random_bits.h"

namespace turnpike {
namespace {

/// With the NUL that begins an abstract name. A random number follows, because names are unique.
constexpr std::string_view prefix{"\0turnpike-command-line/", 23};
constexpr std::size_t number_size = 16;

}  // namespace

bool name_as_command_line(int socket) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    static_assert(prefix.size() + number_size < sizeof address.sun_path);
    std::ranges::copy(prefix, address.sun_path);
    std::snprintf(address.sun_path + prefix.size(), number_size + 1, "%016" PRIx64, random_bits());
    constexpr auto size = offsetof(sockaddr_un, sun_path) + prefix.size() + number_size;
    return ::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0;
}

bool is_command_line(int accepted) {
    sockaddr_un address{};
    socklen_t size = sizeof address;
    constexpr std::size_t before = offsetof(sockaddr_un, sun_path);
    if (::getpeername(accepted, reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
    return size > before && std::string_view(address.sun_path, size - before).starts_with(prefix);
}

}  // namespace turnpike
