// Lengths of time as people read them.
#pragma once

#include <string>

#include "base/time.h"

namespace turnpike {

/// Returns a length of time such as "3 ms", "1.2 s", "4 min 5 s", "2 h 5 min" or "3 d 4 h".
[[nodiscard]] std::string span_text(double seconds);
[[nodiscard]] std::string span_text(Duration time);

}  // namespace turnpike
