#include "supervisor/start_text.h"

#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace turnpike {

std::string start_text(const StartTimes& start) {
    const std::array<std::pair<std::string_view, std::optional<Duration>>, 5> parts{
        {{"spawn", start.spawn},
         {"listen", start.listen},
         {"import", start.import},
         {"load", start.load},
         {"proof", start.proof}}};
    std::string text = start.is_warm ? ": warm" : "";
    for (const auto& [name, time] : parts)
        if (time)
            text += fmt::format("{} {} {} ms", text.empty() ? ":" : ",", name,
                                std::chrono::round<std::chrono::milliseconds>(*time).count());
    return "serves" + text;
}

}  // namespace turnpike
