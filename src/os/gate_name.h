// The second way to find a running gate: a Unix socket with an abstract name, which needs no file.
// The runtime folder may be removed while the gate runs (at logout, by a clean-up of old files);
// nobody can remove this name as long as the gate lives, and nobody else can have it. The kernel
// frees it when the process ends.
//
//     @turnpike/UID/ROOT/NAME      ROOT is a hash of the runtime folder's root
//
// Any user may take any abstract name, so whoever connects must check whose socket it is: names()
// lists only gates of this user. Gates in other network namespaces have other names; they are
// found in the runtime folder alone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/file.h"

namespace turnpike {

/// Returns the abstract name, with @ for its first byte.
[[nodiscard]] std::string abstract_name(std::string_view root, std::string_view gate);

/// A gate that holds its abstract name.
struct NamedGate {
    std::string root;  // the hash
    std::string name;
    std::string socket;  // "@turnpike/…"
    pid_t pid = 0;
};

/// Returns the gates of this user, whatever their root.
[[nodiscard]] std::vector<NamedGate> named_gates();
/// Returns those of this root, sorted by name.
[[nodiscard]] std::vector<NamedGate> named_gates(std::string_view root);

/// Takes the name and listens on its socket. Empty if it is taken, or if there are no such names
/// here; named_gates() tells whether a gate has it.
[[nodiscard]] UniqueFd take_abstract_name(const std::string& name);

/// Connects as the command line to a Unix socket by its path, or by its abstract name if `address`
/// begins with @. An abstract name of another user is refused with EACCES. Returns an empty
/// descriptor and sets errno on failure. The socket does not block.
[[nodiscard]] UniqueFd connect_unix(std::string_view address);

/// Returns the pid of the process that listens at the other end, if it runs as this user.
[[nodiscard]] std::optional<pid_t> listener_of(int connected);

}  // namespace turnpike
