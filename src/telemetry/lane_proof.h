// What the latest proof of a lane showed, for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "core/words.h"

namespace turnpike {

/// Who knew the right answer.
enum class ProofBy : std::uint8_t {
    nobody,     // there was no proof yet
    pool,       // [pool.NAME.proof] says what it must be
    agreement,  // … or that the lanes must agree
    recording,  // NAME.proof.json beside the model
    check,      // the model's own check
    example,    // nobody: the model's example was answered without an error
};

/// Longer bodies are cut: they are to be looked at.
inline constexpr std::size_t proof_body_max = 64 * 1024;

struct ProofBody {
    std::string content_type;
    std::string bytes;     // at most proof_body_max of them
    std::size_t size = 0;  // of all of it

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
    int status = 0;  // 0: there was none
    ProofBody body;
    friend bool operator==(const ProofAnswer&, const ProofAnswer&) = default;
};

struct LaneProof {
    ProofBy by = ProofBy::nobody;
    bool is_passed = false;
    std::string trouble;  // why it failed
    std::string remark;   // what somebody should change although it passed
    ProofRequest request;
    ProofAnswer answer;
    std::string file;  // where its answer is recorded, or would be; empty: nowhere
    Generation generation;
    Instant ended{};
    Duration took{};
};

/// "the model's own check"
[[nodiscard]] constexpr std::string_view words_for(ProofBy by) {
    switch (by) {
        case ProofBy::nobody: return "nobody";
        case ProofBy::pool: return "what the configuration expects";
        case ProofBy::agreement: return "agreement of the lanes";
        case ProofBy::recording: return "the recorded answer";
        case ProofBy::check: return "the model's own check";
        case ProofBy::example: return "an answer without error";
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

/// Kept as far as it is shown.
[[nodiscard]] inline ProofBody proof_body(std::string_view content_type, std::string_view bytes) {
    return {.content_type = std::string(content_type),
            .bytes = std::string(bytes.substr(0, proof_body_max)),
            .size = bytes.size()};
}

}  // namespace turnpike
