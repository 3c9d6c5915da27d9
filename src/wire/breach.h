// The ways to break the protocol (docs/worker-protocol.md). After a breach nothing more is read
// from the peer.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike::wire {

/// What is wrong. sentence_of() is for people, name_of() for test vectors and tests.
enum class Breach : std::uint8_t {
    none,
    // in the bytes: found by Decoder
    kind_unknown,
    flags_unknown,
    not_zero,             // a part that must be 0 is not
    size_too_large,       // the payload is too large for its kind
    size_wrong,           // the size of the payload does not match its parts
    length_too_large,     // a part of the payload is too long
    value_out_of_bounds,  // a count, a status, a permille, an enumeration, a job's number
    not_utf8,
    magic_wrong,              // hello does not begin with the magic
    fields_malformed,         // malformed header lines, or a forbidden one (Content-Length, …)
    descriptor_out_of_place,  // the flag is set on a frame that may not have a descriptor
    // in the descriptors: found by the code that reads the socket
    descriptor_unannounced,  // a descriptor came without the flag
    descriptor_missing,      // the flag is set, but no descriptor came
    descriptor_unfit,        // not a memfd, not fully sealed, or of the wrong length
    // in the order of a worker's frames: found by Conversation
    hello_missing,  // another frame came first
    hello_again,
    no_common_version,
    loading_after_ready,
    ready_again,
    job_not_aboard,  // the job was never sent, or has ended
    begin_again,
    chunk_before_begin,
    status_missing,  // done with status 0, but there was no begin
    status_again,    // done with a status, but begin had one
    pong_unasked,
    stacks_unasked,
    pause_ignored,  // too many bytes of chunks after pause
    length_broken,  // the chunks do not add up to Content-Length: found by the supervisor
};

std::string_view sentence_of(Breach);
std::string_view name_of(Breach);

}  // namespace turnpike::wire
