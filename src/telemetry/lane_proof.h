// What the latest proof of a lane showed, for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "core/words.h"

namespace turnpike {

/// By what an answer to a proof was judged.
enum class ProofBy : std::uint8_t {
    nobody,     // not judged: there was no proof yet
    pool,       // [pool.NAME.proof] contains the right answer
    agreement,  // [pool.NAME.proof] says that all lanes must agree
    recording,  // NAME.proof.json beside the model
    check,      // the model's own check
    example,    // no right answer is known: the model's example must be answered without an error
};

/// Longer bodies are cut, because they are only shown to people.
inline constexpr std::size_t proof_body_max = 64 * 1024;

struct ProofBody {
    std::string content_type;
    std::string bytes;     // at most proof_body_max of them
    std::size_t size = 0;  // of the whole body

    [[nodiscard]] bool is_whole() const { return bytes.size() == size; }
    friend bool operator==(const ProofBody&, const ProofBody&) = default;
};

struct ProofRequest {
    std::string method;
    std::string path;
    ProofBody body;
    friend bool operator==(const ProofRequest&, const ProofRequest&) = default;
};

struct ProofAnswer {
    int status = 0;  // 0 if there was no answer
    ProofBody body;
    friend bool operator==(const ProofAnswer&, const ProofAnswer&) = default;
};

struct LaneProof {
    ProofBy by = ProofBy::nobody;
    bool is_passed = false;
    std::string trouble;  // why the proof failed
    std::string remark;   // what people should change although it passed
    ProofRequest request;
    ProofAnswer answer;
    std::string file;  // where its answer is or would be recorded; empty if it can't be recorded
    Generation generation;
    Instant ended{};
    Duration took{};
};

/// Returns words for people, such as "the model's own check".
[[nodiscard]] constexpr std::string_view words_for(ProofBy by) {
    switch (by) {
        case ProofBy::nobody: return "nobody";
        case ProofBy::pool: return "what the configuration expects";
        case ProofBy::agreement: return "agreement of the lanes";
        case ProofBy::recording: return "the recorded answer";
        case ProofBy::check: return "the model's own check";
        case ProofBy::example: return "an answer that is not an error";
    }
    return "";
}

[[nodiscard]] constexpr std::string_view name_of(ProofBy by) {
    switch (by) {
        case ProofBy::nobody: return "nobody";
        case ProofBy::pool: return "pool";
        case ProofBy::agreement: return "agreement";
        case ProofBy::recording: return "recording";
        case ProofBy::check: return "check";
        case ProofBy::example: return "example";
    }
    return "";
}

/// Makes a ProofBody, cut to proof_body_max.
[[nodiscard]] inline ProofBody proof_body(std::string_view content_type, std::string_view bytes) {
    return {.content_type = std::string(content_type),
            .bytes = std::string(bytes.substr(0, proof_body_max)),
            .size = bytes.size()};
}

}  // namespace turnpike
