// `turnpike doctor`: shows what is right and wrong with this machine, and what to do about it.
#pragma once

#include <string>
#include <vector>

#include "setup/findings.h"
#include "setup/machine_facts.h"
#include "terminal/table.h"

namespace turnpike {

[[nodiscard]] std::string doctor_text(const std::vector<Finding>& findings, TextStyle style);
[[nodiscard]] std::string doctor_json(const MachineFacts& facts,
                                      const std::vector<Finding>& findings);

}  // namespace turnpike
