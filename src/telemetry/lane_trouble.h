// What went wrong with a lane: the cause, what everybody may read about it, and what the lane's
// worker printed or answered, which may be confidential. Nobody finds out the cause by reading a
// text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace turnpike {

enum class LaneCause : std::uint8_t {
    none,  // nothing went wrong

    // the worker's end
    exited,         // it ended by itself, or could not be started
    ended,          // we ended it, and no other cause is known
    load_silent,    // we ended it: it made no progress for load_timeout
    survives_kill,  // a process of its tree is still there after SIGKILL
    misbehaved,     // a native worker broke the protocol, or closed its socket

    // a worker that does not come up, or does not answer
    no_hello,      // a native worker has not said hello
    port_taken,    // a stranger listens on an HTTP worker's port
    other_port,    // an HTTP worker listens on a port that is not its own
    unknown_host,  // the host name of an attached worker can't be resolved
    refused,       // nothing listens at an HTTP worker's address
    no_answer,     // an HTTP worker did not answer in time
    bad_answer,    // it answered with the wrong status, with too much, or not in HTTP

    // proofs
    proof_failed,  // the proof was not answered, or by an error
    wrong_answer,  // its answer is not the right one
    disagrees,     // its answer differs from the majority's

    gpu_silent,  // the driver of its GPU does not answer

    shortage,  // we or the machine lack descriptors, memory or processes to start or to ask it
};

/// Returns the cause's name: "wrong_answer".
[[nodiscard]] std::string_view name_of(LaneCause cause);

struct LaneTrouble {
    LaneCause cause = LaneCause::none;
    std::string told;  // in our own words, for everybody: "exit code 1"; may be empty
    std::string said;  // the worker's own words, for admins: "ImportError: no torch"; may be empty

    [[nodiscard]] bool is_none() const { return cause == LaneCause::none; }
    friend bool operator==(const LaneTrouble&, const LaneTrouble&) = default;
};

/// Returns all of it in one text, for admins: "exit code 1: ImportError: no torch".
[[nodiscard]] inline std::string text_of(const LaneTrouble& trouble) {
    return trouble.told + (trouble.told.empty() || trouble.said.empty() ? "" : ": ") + trouble.said;
}

}  // namespace turnpike
