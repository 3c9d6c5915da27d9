// The recorded proof of a model: NAME.proof.json beside it. A request (the model's example), the
// answer that was right when somebody recorded it, and how far an answer may differ. Made to be read,
// edited (the tolerances) and committed to git.
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
// A body that is no JSON is a "text", or if it is none "base64".
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "proof/answer_compare.h"
#include "telemetry/lane_proof.h"

namespace turnpike {

/// Numbers with a point may differ by either: GPUs add in different orders. All else is exact.
inline constexpr double recorded_tolerance_absolute = 1e-6;
inline constexpr double recorded_tolerance_relative = 1e-4;

struct Recording {
    std::string model;     // as it was written: "model.py:Digits"
    std::string recorded;  // when, in UTC
    std::string turnpike;  // by which version
    ProofRequest request;
    ProofAnswer answer;
    double tolerance_absolute = recorded_tolerance_absolute;
    double tolerance_relative = recorded_tolerance_relative;
};

/// "/home/bob/model.proof.json" of /home/bob/model.py; empty: there is no file that it could lie beside.
[[nodiscard]] std::string recording_path(const ModelChoice& model);

[[nodiscard]] std::string text_of(const Recording& recording);
/// An error says what is wrong with it.
[[nodiscard]] std::expected<Recording, std::string> parse_recording(std::string_view text);

/// Nothing: there is none. An error is a sentence, with the path.
[[nodiscard]] std::expected<std::optional<Recording>, std::string> read_recording(
    const std::string& path);
/// Whole or not at all, and on the disk when this returns.
[[nodiscard]] std::expected<void, std::string> write_recording(const std::string& path,
                                                               const Recording& recording);

/// How answers are compared with the recorded one.
[[nodiscard]] ProofConfig rule_of(const Recording& recording);
[[nodiscard]] bool is_same_request(const ProofRequest& a, const ProofRequest& b);
/// Where the answer differs from the recorded one; nothing: nowhere.
[[nodiscard]] std::optional<Difference> difference_from(const Recording& recording,
                                                        const ProofAnswer& answer);

}  // namespace turnpike
