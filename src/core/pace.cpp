#include "core/pace.h"

#include <algorithm>

namespace turnpike {

void Pace::add(Duration run, std::uint32_t batch_size) {
    const Duration share = run / batch_size;
    if (samples_++ == 0) {
        usual_ = run;
        slot_time_ = share;
        return;
    }
    // The estimate takes a step towards each sample. The size of the step depends only on the
    // estimate, so the estimate settles where as many samples lie above as below: at the median.
    const Duration step = std::max<Duration>(usual_ / 16, 1us);
    usual_ += std::clamp(run - usual_, -step, step);
    slot_time_ += (share - slot_time_) / 8;
}

}  // namespace turnpike
