// Frames → bytes. The caller keeps every length within its bound (CHECKed).
//
//     std::string out;
//     append_frame(out, wire::Cancel{.id = 7});
#pragma once

#include <string>

#include "wire/frame.h"

namespace turnpike::wire {

/// A body that is not in a descriptor is appended, too.
void append_frame(std::string& out, const GateFrame& frame);
void append_frame(std::string& out, const WorkerFrame& frame);

/// The frame of a job up to its body, whose bytes must follow: so that they need not be copied.
void append_head(std::string& out, const Job& job);

}  // namespace turnpike::wire
