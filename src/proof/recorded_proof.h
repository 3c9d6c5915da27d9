// The recorded answer that the workers of one generation are held to.
//
// What counts is the recording that lay beside the model when the generation's first worker was
// proved. Later changes of the file never take a serving lane down (somebody checks out another
// branch while the old code runs); but an answer that the file as it is now allows is right, too, so
// that recording anew, or removing the file, mends what it broke.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "proof/proof_check.h"
#include "proof/recording.h"

namespace turnpike {

/// Touched on the background thread only, as it reads and writes files.
class RecordedProof {
public:
    /// `path`: where the recording is, or would be; empty: nowhere.
    RecordedProof(std::string path, std::string model)
        : path_(std::move(path)), model_(std::move(model)) {}

    /// Whether this answer to the model's example is right.
    [[nodiscard]] Judgement judge(const ProofRequest& request, const ProofAnswer& answer);

    /// From now on the first answer is the right one, whatever was recorded.
    void accept() {
        is_accepting_ = true;
        recording_.reset();
    }
    struct Stamp {
        std::string recorded;  // when, in UTC
        std::string turnpike;  // the version
    };
    /// The generation has become good: what was accepted is the recording now. An error says why it could not be
    /// written. False: nothing was to be written.
    [[nodiscard]] std::expected<bool, std::string> keep(const Stamp& stamp);

private:
    Judgement judge_by_file(const ProofRequest& request, const ProofAnswer& answer);

    const std::string path_;
    const std::string model_;
    std::optional<Recording> recording_;
    bool is_settled_ = false;  // the generation's first proof has looked for a recording
    bool is_accepting_ = false;
};

/// What the workers of one generation are proved with together; touched on the background thread only.
struct CommonProof {
    AnswerGroups groups;
    RecordedProof recorded;
};

}  // namespace turnpike
