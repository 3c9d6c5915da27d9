// The recorded answer that all workers of one generation must give.
//
// A generation is judged by the recording that was beside the model when its first worker was
// proved. So a later change of the file never takes a serving lane down, for example when somebody
// checks out another branch while the old code runs. But an answer that the current file allows is
// right, too, so recording again, or removing the file, repairs a wrong recording.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "proof/proof_check.h"
#include "proof/recording.h"

namespace turnpike {

/// Must be used on the background thread only, because it reads and writes files.
class RecordedProof {
public:
    /// `path` is where the recording is, or would be. Empty if the model can't have one.
    RecordedProof(std::string path, std::string model)
        : path_(std::move(path)), model_(std::move(model)) {}

    /// Judges this answer to the model's example.
    [[nodiscard]] Judgement judge(const ProofRequest& request, const ProofAnswer& answer);

    /// Makes the next answer the right one, even if another is recorded.
    void accept() {
        is_accepting_ = true;
        recording_.reset();
    }
    struct Stamp {
        std::string recorded;  // the time, in UTC
        std::string turnpike;  // the version of Turnpike
    };
    /// Must be called when the generation has become good. Writes the accepted answer as the
    /// recording. Returns true if it was written, false if no answer was accepted, or an error
    /// message if writing failed.
    [[nodiscard]] std::expected<bool, std::string> keep(const Stamp& stamp);

private:
    Judgement judge_by_file(const ProofRequest& request, const ProofAnswer& answer);

    const std::string path_;
    const std::string model_;
    std::optional<Recording> recording_;
    bool is_settled_ = false;  // the generation's first proof has looked for a recording
    bool is_accepting_ = false;
};

/// What the proofs of one generation's workers share. Must be used on the background thread only.
struct CommonProof {
    AnswerGroups groups;
    RecordedProof recorded;
};

}  // namespace turnpike
