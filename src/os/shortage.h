// What this process or the whole machine has run out of. It is never the fault of a worker, so
// whoever meets such an error tells it apart from all others.
#pragma once

#include <cstdint>
#include <string>

namespace turnpike {

enum class Shortage : std::uint8_t {
    none,              // the error has another cause
    descriptors,       // this process may open no more files
    files_of_machine,  // nobody may open any more files
    memory,
    disk,       // it is full, or the quota is used up
    processes,  // no more processes or threads may be made
    ports,      // no TCP port of this machine is left for another connection
};

/// Returns the shortage behind an errno. EAGAIN means processes, so pass it only if it comes from a
/// function that makes one.
[[nodiscard]] Shortage shortage_behind(int error);

/// Returns the shortage behind an errno of connect(). EAGAIN is none: the listener's queue is full.
/// EADDRNOTAVAIL means ports, so pass it only if this machine has an address to connect from.
[[nodiscard]] Shortage shortage_behind_connect(int error);

/// Returns what is short and what to do: "Turnpike may open no more files (EMFILE): raise …". Empty
/// for `none`.
[[nodiscard]] std::string text_of(Shortage shortage);

/// Returns the text of the shortage behind the error, or the system's own text for any other error.
[[nodiscard]] std::string text_of_error(int error);

}  // namespace turnpike
