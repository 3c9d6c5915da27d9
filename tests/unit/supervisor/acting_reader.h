// The reader of an answer in a test: calls `act` whenever there is more to read.
#pragma once

#include <functional>

#include "stream/answer.h"

namespace turnpike {

struct ActingReader final : AnswerReader {
    std::function<void()> act = [] {};
    void answer_moved() override { act(); }
};

}  // namespace turnpike
