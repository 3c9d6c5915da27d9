// Makes the frame that a vector of sdk/conformance describes.
#pragma once

#include <boost/json.hpp>
#include <deque>
#include <string>

#include "wire/frame.h"

namespace turnpike::wire::test {

/// Owns the bytes that a frame refers to.
using Storage = std::deque<std::string>;

GateFrame gate_frame_of(const boost::json::object& said, Storage& storage);
WorkerFrame worker_frame_of(const boost::json::object& said, Storage& storage);

std::string bytes_of_hex(std::string_view hex);

}  // namespace turnpike::wire::test
