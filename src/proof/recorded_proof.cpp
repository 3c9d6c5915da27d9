#include "proof/recorded_proof.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

namespace turnpike {

namespace {

std::string name_of(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

Judgement passed(ProofBy by, std::string remark = {}) {
    return {.verdict = ProofVerdict::passed,
            .by = by,
            .trouble = {},
            .remark = std::move(remark),
            .opinions = {}};
}

Judgement failed(std::string why) {
    return {.verdict = ProofVerdict::failed,
            .by = ProofBy::recording,
            .trouble = std::move(why),
            .remark = {},
            .opinions = {}};
}

}  // namespace

Judgement RecordedProof::judge(const ProofRequest& request, const ProofAnswer& answer) {
    if (path_.empty()) return passed(ProofBy::example);
    if (is_accepting_ && !recording_) {
        recording_ = Recording{
            .model = model_, .recorded = {}, .turnpike = {}, .request = request, .answer = answer};
        return passed(ProofBy::recording);
    }
    if (recording_ && is_same_request(recording_->request, request)) {
        const auto difference = difference_from(*recording_, answer);
        if (!difference) return passed(ProofBy::recording);
        if (is_accepting_) return failed(text_of(*difference, "on the first lane of this code"));
    }
    return judge_by_file(request, answer);
}

Judgement RecordedProof::judge_by_file(const ProofRequest& request, const ProofAnswer& answer) {
    auto found = read_recording(path_);
    const bool serves_without = std::exchange(is_settled_, true) && !recording_;
    if (!found) {
        is_settled_ = serves_without || recording_;
        return serves_without ? passed(ProofBy::example, found.error()) : failed(found.error());
    }
    if (!*found) {
        recording_.reset();
        return passed(ProofBy::example);
    }
    if (!is_same_request((*found)->request, request)) {
        recording_.reset();
        return passed(
            ProofBy::example,
            fmt::format("{} is outdated, as the model's example has changed since; record "
                        "it anew with: turnpike prove --accept",
                        name_of(path_)));
    }
    const auto difference = difference_from(**found, answer);
    if (difference && serves_without)
        return passed(ProofBy::example,
                      fmt::format("{} differs from what this code answers ({}); it counts from the "
                                  "next reload on",
                                  name_of(path_), text_of(*difference)));
    recording_ = *std::move(*found);
    if (!difference) return passed(ProofBy::recording);
    return failed(fmt::format("{} ({})", text_of(*difference), name_of(path_)));
}

std::expected<bool, std::string> RecordedProof::keep(const Stamp& stamp) {
    if (!std::exchange(is_accepting_, false) || !recording_ || path_.empty()) return false;
    if (!recording_->request.body.is_whole() || !recording_->answer.body.is_whole())
        return std::unexpected(path_ + ": not written, as the answer is larger than 64 KiB");
    recording_->recorded = stamp.recorded;
    recording_->turnpike = stamp.turnpike;
    if (const auto before = read_recording(path_); before && *before) {
        recording_->tolerance_absolute = (*before)->tolerance_absolute;
        recording_->tolerance_relative = (*before)->tolerance_relative;
    }
    const auto written = write_recording(path_, *recording_);
    if (!written) return std::unexpected(written.error());
    return true;
}

}  // namespace turnpike
