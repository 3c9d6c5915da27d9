#include "stream/attempt_report.h"

#include <cstddef>

#include "base/empty_and_keep.h"

namespace turnpike {

namespace {

constexpr std::size_t kept_text_max = 8 * 1024;

}  // namespace

void AttemptReport::begin(AttemptId attempt, Generation of_worker, Instant now) {
    if (!id.is_none()) clear();
    id = attempt;
    generation = of_worker;
    began = now;
}

void AttemptReport::clear() {
    id = {};
    generation = {};
    began = {};
    trouble.cause = Cause::none;
    progress.permille.reset();
    for (std::string* text : {&trouble.told, &trouble.said, &progress.text, &stacks})
        empty_and_keep(*text, kept_text_max);
}

}  // namespace turnpike
