// Writing to a socket that does not block.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string_view>

namespace turnpike {

/// How many bytes went, of `first` and then of `second`; -1 and errno, EAGAIN if the socket is full.
/// No signal tells of a peer that is gone.
ssize_t send_some(int socket, std::string_view first, std::string_view second);

inline constexpr std::size_t sent_descriptors_max = 4;  // at once
/// The same; the descriptors go with the first of the bytes.
ssize_t send_descriptors(int socket, std::string_view bytes, std::span<const int> descriptors);

}  // namespace turnpike
