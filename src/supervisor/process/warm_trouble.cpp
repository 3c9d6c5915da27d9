#include "supervisor/process/warm_trouble.h"

#include <fmt/format.h>

namespace turnpike {

std::string sentence_of(const WarmTrouble& trouble, std::string_view it) {
    const std::string& details = trouble.details;
    switch (trouble.why) {
        case WhyCold::unknown: return fmt::format("{} did not fork", it);
        case WhyCold::not_started: return fmt::format("{} can't be started: {}", it, details);
        case WhyCold::still_importing: return fmt::format("{} still imports{}", it, details);
        case WhyCold::import_ended:
            return fmt::format("{} was ended: it still imported{}", it, details);
        case WhyCold::garbled:
            return fmt::format("{} sent a message that Turnpike does not understand", it);
        case WhyCold::no_descriptors:
        case WhyCold::refused: return details;
        case WhyCold::died: return fmt::format("{} died: {}", it, details);
        case WhyCold::silent: return fmt::format("{} did not fork in time", it);
        case WhyCold::not_ready: return "no warm process is ready";
        case WhyCold::too_large: return "the environment is too large for a warm start";
        case WhyCold::not_asked: return fmt::format("{} can't be asked: {}", it, details);
    }
    return "";
}

}  // namespace turnpike
