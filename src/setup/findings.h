// Judges the facts about this machine: what is right, what is wrong, and what to do about it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "setup/machine_facts.h"

namespace turnpike {

struct Finding {
    enum class Mark : std::uint8_t {
        ok,
        warn,  // it works, but may cause trouble
        bad,   // something does not work
    } mark = Mark::ok;
    std::string section;
    std::string what;
    std::string advice;  // what to do; every `warn` and `bad` has some
};

/// Returns the findings in the order in which they are shown, section by section.
[[nodiscard]] std::vector<Finding> findings_about(const MachineFacts& facts);

}  // namespace turnpike
