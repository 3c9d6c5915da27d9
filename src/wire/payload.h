// Decodes one payload into one frame. The header must have been checked against its row of kind.h.
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

/// Returns Breach::none and the complete frame, or a breach and an incomplete frame.
Breach read_payload(const Header& header, std::string_view payload, GateFrame& frame);
Breach read_payload(const Header& header, std::string_view payload, WorkerFrame& frame);

}  // namespace turnpike::wire
