// Sending to a socket without blocking.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string_view>

namespace turnpike {

/// Sends `first`, then `second`, as far as the socket takes them. Returns how many bytes were sent.
/// Returns -1 and sets errno on failure: EAGAIN if the socket is full. A closed peer raises no
/// SIGPIPE.
ssize_t send_some(int socket, std::string_view first, std::string_view second);

inline constexpr std::size_t sent_descriptors_max = 4;  // in one call
/// Like send_some(). The descriptors are sent with the first byte.
ssize_t send_descriptors(int socket, std::string_view bytes, std::span<const int> descriptors);

}  // namespace turnpike
