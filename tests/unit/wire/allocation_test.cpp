// Memory: complete frames need none, incomplete ones need at most one frame, and a length in a
// header alone allocates nothing.
#include <gtest/gtest.h>

#include <cstdint>

#include "bench/allocations.h"
#include "tests/unit/wire/samples.h"
#include "wire/conversation.h"

namespace turnpike::wire::test {
namespace {

constexpr auto ignore = [](const auto&) { return true; };

template <class Frame>
std::uint64_t allocations_in_pieces(Decoder<Frame>& decoder, std::string_view bytes,
                                    std::size_t piece) {
    const std::uint64_t before = allocations;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
        EXPECT_EQ(decoder.push(bytes.substr(0, piece), ignore), Breach::none);
    return allocations - before;
}

TEST(WireAllocation, DoesNotHappenForWholeFrames) {
    const std::string from_gate = encoded_samples(gate_samples);
    const std::string from_worker = encoded_samples(worker_samples);
    Decoder<GateFrame> worker;
    Decoder<WorkerFrame> gate;
    EXPECT_EQ(allocations_in_pieces(worker, from_gate, from_gate.size()), 0U);
    EXPECT_EQ(allocations_in_pieces(gate, from_worker, from_worker.size()), 0U);
}

TEST(WireAllocation, HappensTwiceForTheFirstLargeFrameInPieces) {
    const std::string large(inline_max, 'x');
    const std::string bytes = encoded(WorkerFrame{Chunk{.id = 7, .bytes = large}});
    Decoder<WorkerFrame> decoder;
    EXPECT_LE(allocations_in_pieces(decoder, bytes, 1000),
              2U);  // for the header, then for the whole frame
    EXPECT_EQ(allocations_in_pieces(decoder, bytes, 1000), 0U);
}

TEST(WireAllocation, DoesNotHappenForASizeAlone) {
    std::string bytes = encoded(WorkerFrame{Chunk{.id = 7, .bytes = "x"}});
    bytes.replace(0, 4, 4, '\xFF');
    Decoder<WorkerFrame> decoder;
    const std::uint64_t before = allocations;
    EXPECT_EQ(decoder.push(bytes, ignore), Breach::size_too_large);
    EXPECT_EQ(allocations - before, 0U);
}

TEST(WireAllocation, DoesNotHappenForEachJobOfAConversation) {
    Conversation conversation;
    EXPECT_EQ(conversation.heard(Hello{}), Breach::none);
    EXPECT_EQ(conversation.heard(Ready{}), Breach::none);
    for (std::uint64_t id = 1; id <= 100; ++id) conversation.sent(id);
    conversation.pinged(0);
    const std::uint64_t before = allocations;
    for (std::uint64_t id = 1; id <= 10'000; ++id) {
        conversation.sent(id + 100);
        EXPECT_EQ(conversation.heard(Failed{.id = id}), Breach::none);
        EXPECT_EQ(conversation.heard(Pong{.id = id - 1}), Breach::none);
        conversation.pinged(id);
    }
    EXPECT_EQ(allocations - before, 0U);
}

}  // namespace
}  // namespace turnpike::wire::test
