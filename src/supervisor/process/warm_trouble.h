// Why a pool has no warm process, or why a start was cold although it has one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace turnpike {

enum class WhyCold : std::uint8_t {
    unknown,          // no worker came, and no reason is known
    no_descriptors,   // no pipes or sockets could be made; `details`: a sentence
    not_started,      // the warm process can't be started; `details`: the system's error
    still_importing,  // `details`: what it imports, and since when
    import_ended,     // it was ended because it imported for too long; `details` as above
    garbled,          // it sent a message that is none
    refused,          // `details`: its own sentence
    died,             // `details`: how it ended
    silent,           // it did not fork in time
    not_ready,        // none is ready
    too_large,        // the worker's environment does not fit into a request
    not_asked,        // the request could not be sent; `details`: the system's error
};

struct WarmTrouble {
    WhyCold why = WhyCold::unknown;
    std::string details;
};

/// Returns a sentence about the warm process. `it` names the process: "it", or "the warm process"
/// where "it" would mean the worker.
[[nodiscard]] std::string sentence_of(const WarmTrouble& trouble, std::string_view it);

}  // namespace turnpike
