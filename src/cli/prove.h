// `turnpike prove`: lets the lanes prove themselves, shows what they answer, and records it beside the
// model as what they must answer from now on.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.h"
#include "proof/recording.h"
#include "telemetry/lane_proof.h"

namespace turnpike {

struct ProvedLane {
    std::size_t lane = 0;
    std::string state;
    bool serves = false;
    std::uint64_t count = 0;  // of the proofs that ended on it
    LaneProof proof;
};

/// As GET /-/pools/NAME/proof tells.
struct ProvedPool {
    std::string pool;
    std::string model;
    bool has_proof = false;
    bool is_configured = false;  // by [pool.NAME.proof]
    std::vector<ProvedLane> lanes;

    [[nodiscard]] const LaneProof* any_proof()
        const;  // of a lane that has answered; nullptr: none has
};

[[nodiscard]] std::expected<ProvedPool, std::string> parse_proved_pool(std::string_view json);

/// The lanes that have not ended a proof since, but will.
[[nodiscard]] std::vector<std::size_t> lanes_to_wait_for(const ProvedPool& before,
                                                         const ProvedPool& now);

/// Lanes that answered alike, the most first; and how the others differ from those.
struct Answers {
    std::vector<std::vector<std::size_t>> groups;
    std::vector<std::string> oddities;  // "lane 2 answers .digit = 1; lanes 0, 1, 3 answer 7"
};
[[nodiscard]] Answers answers_of(const ProvedPool& pool);

enum class Accept : std::uint8_t { no, yes };
using FoundRecording = std::expected<std::optional<Recording>, std::string>;

/// What is to be done about the recording, and why.
struct RecordingPlan {
    std::optional<Recording> write;
    std::string text;  // for people
    int exit_code = exit_done;
};
[[nodiscard]] RecordingPlan plan_recording(const ProvedPool& pool, const FoundRecording& found,
                                           Accept accept);

/// Request and answers, for people.
[[nodiscard]] std::string text_of(const ProvedPool& pool);
/// The same for programs, with the plan's text as `outcome`.
[[nodiscard]] std::string json_of(const ProvedPool& pool, const RecordingPlan& plan);

}  // namespace turnpike
