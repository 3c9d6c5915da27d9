// The value of the Date field. It is written anew once a second.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "os/clock.h"

namespace turnpike {

class HttpDate {
public:
    explicit HttpDate(Clock& clock) : clock_(clock) {}

    /// Valid until the next call.
    [[nodiscard]] std::string_view now();

private:
    Clock& clock_;
    std::string text_;
    std::int64_t second_ = 0;
};

}  // namespace turnpike
