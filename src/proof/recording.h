// The recorded proof of a model, in NAME.proof.json beside it: a request (the model's example), the
// right answer, and how far an answer may differ. People can read it, edit the tolerances and
// commit it to git.
//
//   {
//     "version": 1,
//     "model": "model.py:Digits",
//     "recorded": "2026-11-15T20:40:00Z",
//     "turnpike": "0.6.0",
//     "request": {"method": "POST", "path": "/predict", "content_type": "application/json",
//                 "json": {"pixels": [0, 1]}},
//     "answer": {"status": 200, "content_type": "application/json", "json": {"digit": 7}},
//     "tolerance": {"absolute": 1e-06, "relative": 0.0001}
//   }
//
// A body that is not JSON is a "text", or "base64" if it is not UTF-8 either.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "proof/answer_compare.h"
#include "telemetry/lane_proof.h"

namespace turnpike {

/// Floating-point numbers may differ by the larger of the two, because GPUs add in different
/// orders. All else must be equal.
inline constexpr double recorded_tolerance_absolute = 1e-6;
inline constexpr double recorded_tolerance_relative = 1e-4;

struct Recording {
    std::string model;     // as the user wrote it: "model.py:Digits"
    std::string recorded;  // time in UTC
    std::string turnpike;  // the version that recorded it
    ProofRequest request;
    ProofAnswer answer;
    double tolerance_absolute = recorded_tolerance_absolute;
    double tolerance_relative = recorded_tolerance_relative;
};

/// Returns "/home/bob/model.proof.json" for /home/bob/model.py. Empty if the model has no file.
[[nodiscard]] std::string recording_path(const ModelChoice& model);

[[nodiscard]] std::string text_of(const Recording& recording);
/// Returns the recording, or an error message if the text is not a valid one.
[[nodiscard]] std::expected<Recording, std::string> parse_recording(std::string_view text);

/// Returns the recording, or nullopt if there is no such file. The error message names the path.
[[nodiscard]] std::expected<std::optional<Recording>, std::string> read_recording(
    const std::string& path);
/// Writes the file completely or not at all. The file is on the disk when this function returns.
[[nodiscard]] std::expected<void, std::string> write_recording(const std::string& path,
                                                               const Recording& recording);

/// Returns the rule for comparing answers with the recorded one.
[[nodiscard]] ProofConfig rule_of(const Recording& recording);
[[nodiscard]] bool is_same_request(const ProofRequest& a, const ProofRequest& b);
/// Returns where the answer first differs from the recorded one, or nullopt if it does not.
[[nodiscard]] std::optional<Difference> difference_from(const Recording& recording,
                                                        const ProofAnswer& answer);

}  // namespace turnpike
