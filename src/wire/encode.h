// Encodes frames as bytes. The caller must keep every length within its bound (CHECKed).
//
//     std::string out;
//     append_frame(out, wire::Cancel{.id = 7});
#pragma once

#include <string>

#include "wire/frame.h"

namespace turnpike::wire {

/// Append the frame to `out`, including a body that is not in a descriptor.
void append_frame(std::string& out, const GateFrame& frame);
void append_frame(std::string& out, const WorkerFrame& frame);

/// Appends the frame of a job without the bytes of its body. The caller must send these bytes next;
/// so they need not be copied.
void append_head(std::string& out, const Job& job);

}  // namespace turnpike::wire
