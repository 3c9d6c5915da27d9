// `turnpike prove`: sends each lane its proof, shows what the lanes answer, and records the answer
// beside the model. From then on every lane must give that answer.
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
    std::uint64_t count = 0;  // proofs that have ended on this lane
    LaneProof proof;
};

/// What GET /-/pools/NAME/proof answered.
struct ProvedPool {
    std::string pool;
    std::string model;
    bool has_proof = false;
    bool is_configured = false;  // the proof comes from [pool.NAME.proof]
    std::vector<ProvedLane> lanes;

    /// Returns the proof of a lane that has answered, or nullptr if none has.
    [[nodiscard]] const LaneProof* any_proof() const;
};

[[nodiscard]] std::expected<ProvedPool, std::string> parse_proved_pool(std::string_view json);

/// Returns the lanes that have not ended a proof since `before`, but will.
[[nodiscard]] std::vector<std::size_t> lanes_to_wait_for(const ProvedPool& before,
                                                         const ProvedPool& now);

/// Groups of lanes that gave the same answer, the largest first, and how the other groups differ
/// from it.
struct Answers {
    std::vector<std::vector<std::size_t>> groups;
    std::vector<std::string> oddities;  // "lane 2 answers .digit = 1; lanes 0, 1, 3 answer 7"
};
[[nodiscard]] Answers answers_of(const ProvedPool& pool);

enum class Accept : std::uint8_t { no, yes };
using FoundRecording = std::expected<std::optional<Recording>, std::string>;

/// What to do about the recording, and why.
struct RecordingPlan {
    std::optional<Recording> write;
    std::string text;  // for people
    int exit_code = exit_done;
};
[[nodiscard]] RecordingPlan plan_recording(const ProvedPool& pool, const FoundRecording& found,
                                           Accept accept);

/// Returns the request and the answers as text for people.
[[nodiscard]] std::string text_of(const ProvedPool& pool);
/// Returns the same as JSON, with the plan's text as `outcome`.
[[nodiscard]] std::string json_of(const ProvedPool& pool, const RecordingPlan& plan);

}  // namespace turnpike
