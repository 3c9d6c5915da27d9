// The ways in which a peer can break the protocol (docs/worker-protocol.md). Any of them is final.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike::wire {

/// What is wrong. sentence_of() tells it to people, name_of() to vectors and tests.
enum class Breach : std::uint8_t {
    none,
    // of bytes: found by Decoder
    kind_unknown,
    flags_unknown,
    not_zero,             // a part that must be 0
    size_too_large,       // of the payload, for its kind
    size_wrong,           // the payload is shorter or longer than its parts
    length_too_large,     // of one of its parts
    value_out_of_bounds,  // a count, a status, a permille, an enumeration, a job's number
    not_utf8,
    magic_wrong,              // in hello
    fields_malformed,         // header lines; or one that frames the answer
    descriptor_out_of_place,  // the flag on a frame that may not have one
    // of descriptors: found by whoever reads the socket
    descriptor_unannounced,  // without the flag
    descriptor_missing,      // the flag without one
    descriptor_unfit,        // not a memfd with all seals, or of another length
    // of a worker's turns: found by Conversation
    hello_missing,  // another frame came first
    hello_again,
    no_common_version,
    loading_after_ready,
    ready_again,
    job_not_aboard,  // never sent, or it has ended
    begin_again,
    chunk_before_begin,
    status_missing,  // done with status 0 although nothing began
    status_again,    // done with a status although `begin` had one
    pong_unasked,
    stacks_unasked,
    pause_ignored,  // too many bytes after pause
    length_broken,  // the chunks are not as long as Content-Length said: found by whoever asked
};

std::string_view sentence_of(Breach);
std::string_view name_of(Breach);

}  // namespace turnpike::wire
