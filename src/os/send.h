// Writing to a socket that does not block.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace turnpike {

/// How many bytes went, of `first` and then of `second`; -1 and errno, EAGAIN if the socket is full.
/// No signal tells of a peer that is gone.
ssize_t send_some(int socket, std::string_view first, std::string_view second);

}  // namespace turnpike
