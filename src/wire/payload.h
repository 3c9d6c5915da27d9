// One payload → one frame. The header has been checked against its row of kind.h already.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/breach.h"
#include "wire/frame.h"
#include "wire/kind.h"

namespace turnpike::wire {

struct Header {
    std::uint32_t size = 0;
    std::uint8_t kind = 0;
    std::uint8_t flags = 0;
    std::uint16_t zero = 0;
    std::uint64_t id = 0;
};

/// `frame` is whole only without a breach.
Breach read_payload(const Header& header, std::string_view payload, GateFrame& frame);
Breach read_payload(const Header& header, std::string_view payload, WorkerFrame& frame);

}  // namespace turnpike::wire
