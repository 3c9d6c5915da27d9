// How an attempt of a job failed: the cause, what anybody may read about it, and what the worker
// said. Nobody finds out a cause by reading a text. The gate makes the sentence where it shows it
// (gate/trouble_text).
#pragma once

#include <cstdint>
#include <string>

namespace turnpike {

enum class Cause : std::uint8_t {
    none,  // the attempt is under way, or it did not fail

    // the connection to an HTTP worker
    refused,         // nothing listens at the worker's address; nothing was sent
    not_connected,   // no connection could be made; nothing was sent
    stale,           // a reused connection was closed before the answer
    no_answer,       // a new connection was closed before the answer
    cut_off,         // the connection was closed within the answer
    not_valid_http,  // the worker broke the rules of HTTP; `told`: which one

    // the job's body, which is in our hands
    body_unreadable,  // it could not be read back from the spool
    body_not_stored,  // it could not be put into memory for the worker; `told`: the system's error

    shortage,  // we had no descriptor, memory or port to reach the worker, or to take its answer;
               // `told`: what is short, or empty if it is descriptors

    // the worker
    worker_died,      // `told`: how it ended; `said`: the last lines that it printed
    worker_ended,     // we ended it; `told`: what it did wrong; `said`: the last lines
    worker_gives_up,  // it reported that it can't go on; `said`: why

    // the model
    bad_input,     // it refused the input; `said`: its message to the client
    model_failed,  // it raised, ran out of memory, or gave NaN; `said`: its message
};

/// Who reads about a failure. Each audience may also read what those before it may read.
enum class Audience : std::uint8_t {
    anybody,  // every client
    trusted,  // a client on this machine, or any client if the pool has errors = "full"
    admins,
};

/// Returns the first audience that may read what the worker said. What a worker prints, and why it
/// gives up, was never meant for clients.
[[nodiscard]] constexpr Audience audience_of_words(Cause cause) {
    switch (cause) {
        case Cause::bad_input: return Audience::anybody;
        case Cause::model_failed: return Audience::trusted;
        case Cause::none:
        case Cause::refused:
        case Cause::not_connected:
        case Cause::stale:
        case Cause::no_answer:
        case Cause::cut_off:
        case Cause::not_valid_http:
        case Cause::body_unreadable:
        case Cause::body_not_stored:
        case Cause::shortage:
        case Cause::worker_died:
        case Cause::worker_ended:
        case Cause::worker_gives_up: return Audience::admins;
    }
    return Audience::admins;
}

struct Trouble {
    Cause cause = Cause::none;
    std::string told;  // details in our own words, for anybody; may be empty
    std::string said;  // the worker's own words, for audience_of_words(); may be empty

    [[nodiscard]] bool is_none() const { return cause == Cause::none; }
    friend bool operator==(const Trouble&, const Trouble&) = default;
};

}  // namespace turnpike
