// What is right and wrong with this machine, judged from the facts that were gathered about it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "setup/machine_facts.h"

namespace turnpike {

struct Finding {
    enum class Mark : std::uint8_t {
        ok,
        warn,  // it works, and may hurt
        bad,   // something does not work
    } mark = Mark::ok;
    std::string section;
    std::string what;
    std::string advice;  // what to do; of every `warn` and `bad`
};

/// In the order in which they are shown; those of a section together.
[[nodiscard]] std::vector<Finding> findings_about(const MachineFacts& facts);

}  // namespace turnpike
