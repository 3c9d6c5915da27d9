// How many clients may be connected at once, so that descriptors never run short: neither for what
// a connection may still need (files for its body and its answer, a link to its worker), nor for
// starting workers, the command line and logs.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "config/config.h"

namespace turnpike {

/// What needs descriptors besides the connections.
struct DescriptorNeeds {
    std::uint64_t limit = 0;  // of open files
    std::uint64_t open = 0;   // now, before the gate opens anything
    std::uint64_t lanes = 0;
    std::uint64_t workers = 0;      // of all lanes, also the next ones during a reload
    std::uint64_t gpus = 0;         // each has a thread
    std::uint64_t pools = 0;        // each may have a warm process
    std::uint64_t links_max = 0;    // to workers, for jobs and asides: all that lanes may have
    std::uint64_t bodies_max = 0;   // that may be in files at once
    std::uint64_t answers_max = 0;  // the same
    std::uint64_t command_lines = 0;
    std::uint64_t wanted = 0;  // gate.connections_max
};

/// Returns how many clients may be connected, at most `wanted`. The error is a sentence: the limit
/// is too low to start at all.
[[nodiscard]] std::expected<std::uint32_t, std::string> connections_for(
    const DescriptorNeeds& needs);

/// Returns the needs of these lanes under this limit, with what this process has open now.
[[nodiscard]] DescriptorNeeds descriptor_needs(const Config& config, std::uint64_t lanes,
                                               std::uint64_t gpus, std::uint64_t limit);

}  // namespace turnpike
