// Which listener takes the connections to an address. The kernel tells it by netlink (sock_diag), in
// about 3 µs and without a look at any process; look_at_port() finds out whose listener it is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "os/ports.h"
#include "os/socket_transport.h"

namespace turnpike {

/// Returns the listener that would take a connection to this TCP endpoint now. Of several with
/// SO_REUSEPORT it names another one each time. Nullopt if nobody listens there, or if the kernel
/// can't be asked.
using ListenerAt = std::function<std::optional<ListenerId>(const StreamEndpoint&)>;

/// Returns such a function. It holds a descriptor.
[[nodiscard]] ListenerAt make_listener_lookup();

}  // namespace turnpike
