// Measures how long the first job of a worker ran. It often takes longer than later jobs, because
// GPU kernels are chosen and caches are filled. Only a job that was answered well counts; if it
// fails, the next one is measured.
#pragma once

#include <optional>

#include "core/words.h"
#include "os/clock.h"
#include "stream/exchange.h"

namespace turnpike {

class FirstJob {
public:
    void sent(const Exchange& exchange, Clock& clock) {
        if (is_over_ || timed_ != nullptr || exchange.is_aside) return;
        timed_ = &exchange;
        since_ = clock.now();
    }
    /// Must be called when an attempt ends. Returns how long the attempt took if it was the
    /// worker's first job that was answered well, otherwise nullopt.
    [[nodiscard]] std::optional<Duration> ended(const Exchange& exchange, Verdict verdict,
                                                Clock& clock) {
        if (timed_ != &exchange) return std::nullopt;
        timed_ = nullptr;
        if (verdict != Verdict::answered) return std::nullopt;
        is_over_ = true;
        return clock.now() - since_;
    }

private:
    const Exchange* timed_ = nullptr;  // the job that is measured; nullptr if none is
    Instant since_ = never;
    bool is_over_ = false;
};

}  // namespace turnpike
