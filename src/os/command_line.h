// How the command line makes itself known on a gate's Unix socket: it gives its own end of the
// connection an abstract name. Proxies connect without a name, and what their clients send them can't
// change that. So nobody becomes the command line through a proxy, whatever the proxy leaves out.
#pragma once

namespace turnpike {

/// Names this end of a connection. Must be called before connect(). Returns false and sets errno if
/// it cannot.
[[nodiscard]] bool name_as_command_line(int socket);

/// True if the other end of an accepted connection was named so. Says nothing about its user.
[[nodiscard]] bool is_command_line(int accepted);

}  // namespace turnpike
