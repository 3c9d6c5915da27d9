#include "gate/http_date.h"

#include <ctime>

#include <fmt/chrono.h>

namespace turnpike {

std::string_view HttpDate::now() {
    constexpr std::int64_t second_ns = 1'000'000'000;
    const std::int64_t second = clock_.unix_ns(clock_.now()) / second_ns;
    if (second != second_) {
        second_ = second;
        text_ = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT",
                            fmt::gmtime(static_cast<std::time_t>(second)));
    }
    return text_;
}

}  // namespace turnpike
