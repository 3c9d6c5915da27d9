#include "supervisor/process/start_text.h"

#include <chrono>

#include <fmt/format.h>

#include "telemetry/start_phases.h"

namespace turnpike {

namespace {

std::string text_of(Duration time) {
    return fmt::format("{} ms", std::chrono::round<std::chrono::milliseconds>(time).count());
}

}  // namespace

std::string start_text(const StartTimes& start) {
    std::string text = start.is_warm ? ": warm" : "";
    for (const StartPhase& phase : phases_until_serving)
        if (const auto time = start.*phase.time)
            text += fmt::format("{} {} {}", text.empty() ? ":" : ",", phase.word, text_of(*time));
    return "serves" + text;
}

std::string first_job_text(Duration time) {
    return fmt::format("{} took {}", first_job_phase.word, text_of(time));
}

}  // namespace turnpike
