// Answers that their clients did not get whole, although their workers had done all that they
// should. To the engine such a job has finished; its record and the pool's counts say what became of
// its answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/view.h"
#include "core/words.h"

namespace turnpike {

class LostAnswers {
public:
    explicit LostAnswers(std::size_t pools) : by_pool_(pools) {}

    /// Counts a job with this outcome that counted as finished before.
    void add(PoolId pool, Outcome outcome) { ++by_pool_[pool.value].of(outcome); }
    /// Counts an answer that the gate cut off, whether its job was still live or not.
    void add_cut(EndReason why) {
        if (why == EndReason::client_too_slow) ++cut_too_slow_;
        if (why == EndReason::answers_full) ++cut_to_make_room_;
    }
    [[nodiscard]] std::uint64_t cut_for(EndReason why) const {
        return why == EndReason::client_too_slow ? cut_too_slow_ : cut_to_make_room_;
    }
    /// Corrects the engine's counts of a pool.
    [[nodiscard]] Counts correct(PoolId pool, Counts counts) const {
        const Counts& lost = by_pool_[pool.value];
        counts.finished -= lost.failed + lost.cancelled;
        counts.failed += lost.failed;
        counts.cancelled += lost.cancelled;
        return counts;
    }

private:
    std::vector<Counts> by_pool_;
    std::uint64_t cut_too_slow_ = 0;
    std::uint64_t cut_to_make_room_ = 0;
};

/// Returns what the record of such a job says. Empty if the reason says it all.
[[nodiscard]] constexpr std::string_view sentence_about_loss(EndReason why) {
    switch (why) {
        case EndReason::client_too_slow:
            return "its client read the answer more slowly than gate.answer_rate_min";
        case EndReason::answers_full:
            return "the answers that wait for their clients had reached gate.answers_max, or "
                   "filled the disk of gate.spool; this client had most of them, and this was "
                   "its slowest reader";
        case EndReason::answer_lost:
            return "a part of the answer could not be read back from gate.spool";
        case EndReason::shutting_down:
            return "the gate ended before its client had read the answer";
        default: return {};
    }
}

}  // namespace turnpike
