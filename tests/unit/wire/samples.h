// At least one frame of each kind, in an order that could occur.
#pragma once

#include <string>
#include <vector>

#include "tests/unit/wire/frame_text.h"

namespace turnpike::wire::test {

inline const std::vector<GateFrame> gate_samples{
    Welcome{.version = 1, .lane = 3, .gpus = 2, .slots = 4, .batch = 8, .pool = "main"},
    Ping{.id = 1},
    Job{.id = 0x1'0000'0007,
        .attempt = 2,
        .purpose = Purpose::proof,
        .batch_index = 1,
        .batch_size = 3,
        .name = "otter-7",
        .method = "POST",
        .target = "/predict?x=1",
        .fields = "A: b\r\nC: d\r\n",
        .body = {.bytes = "{\"x\": 1}"}},
    Job{.id = 8, .method = "GET", .target = "/"},
    Job{.id = 9,
        .purpose = Purpose::aside,
        .name = "n",
        .body = {.in_descriptor = 1ULL << 33U, .is_in_descriptor = true}},
    Cancel{.id = 8},
    AskStacks{.id = 2},
    Pause{.id = 9},
    Resume{.id = 9},
    Stop{},
};

inline const std::vector<WorkerFrame> worker_samples{
    Hello{.version_min = 1, .version_max = 2, .sdk = "sdk 1"},
    Loading{.phase = LoadPhase::loading, .permille = 400, .text = "layers"},
    Log{.level = LogLevel::warning, .text = "größer"},
    Ready{.slots = 2,
          .batch = 8,
          .has_example = true,
          .checks_proofs = true,
          .example_type = "text/plain",
          .example = "example",
          .facts = "{}"},
    Ready{.slots = 1024, .batch = 1024, .checks_proofs = true},
    Progress{.id = 7, .permille = permille_unknown, .text = "step"},
    Begin{.id = 7, .status = 206, .fields = "A: b\r\n"},
    Chunk{.id = 7, .bytes = "chunk"},
    Done{.id = 7},
    Done{.id = 8, .status = 404, .fields = "C: d\r\n", .body = {.bytes = "body"}},
    Done{.id = 9, .status = 200, .body = {.in_descriptor = 5, .is_in_descriptor = true}},
    Failed{.id = ~0ULL, .why = FailWhy::unhealthy, .type = "E", .message = "gone"},
    Pong{.id = 1},
    Stacks{.id = 2, .text = "Thread 1\n"},
};

template <class Frame>
std::string transcript_of_samples(const std::vector<Frame>& samples) {
    std::string all;
    for (const Frame& frame : samples) all += text_of(frame) + "\n";
    return all + "end";
}

template <class Frame>
std::string encoded_samples(const std::vector<Frame>& samples) {
    std::string all;
    for (const Frame& frame : samples) append_frame(all, frame);
    return all;
}

}  // namespace turnpike::wire::test
