#include "supervisor/process/start_text.h"

#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace turnpike {

namespace {

std::string text_of(Duration time) {
    return fmt::format("{} ms", std::chrono::round<std::chrono::milliseconds>(time).count());
}

}  // namespace

std::string start_text(const StartTimes& start) {
    const std::array<std::pair<std::string_view, std::optional<Duration>>, 5> parts{
        {{"spawn", start.spawn},
         {"listen", start.listen},
         {"import", start.import},
         {"load", start.load},
         {"proof", start.proof}}};
    std::string text = start.is_warm ? ": warm" : "";
    for (const auto& [name, time] : parts)
        if (time) text += fmt::format("{} {} {}", text.empty() ? ":" : ",", name, text_of(*time));
    return "serves" + text;
}

std::string first_job_text(Duration time) { return "first job took " + text_of(time); }

}  // namespace turnpike
