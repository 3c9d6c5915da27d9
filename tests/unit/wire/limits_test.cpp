// Each limit can be reached, and not exceeded. (sdk/conformance/vectors.json has the cases that
// need few bytes.)
#include <gtest/gtest.h>

#include "tests/unit/wire/frame_text.h"

namespace turnpike::wire::test {
namespace {

const std::string largest(inline_max, 'x');

std::string_view of(std::size_t size) { return std::string_view(largest).substr(0, size); }

/// Returns a valid header line of that many bytes.
std::string line_of(std::size_t size) { return "A:" + std::string(size - 4, 'b') + "\r\n"; }

template <class Frame>
void expect_passes(const Frame& frame) {
    const std::string bytes = encoded(frame);
    EXPECT_TRUE(transcript_of<Frame>(bytes) == text_of(frame) + "\nend") << bytes.substr(0, 40);
    EXPECT_TRUE(transcript_in_pieces<Frame>(bytes, 100'000, 1) == text_of(frame) + "\nend");
}

TEST(WireLimits, LetThroughTheLargestFrameOfEachKindOfTheGate) {
    expect_passes<GateFrame>(Welcome{.pool = of(65535)});
    const std::string fields = line_of(65519);
    const Job job{.id = 7,
                  .name = of(65535),
                  .method = of(65535),
                  .target = of(65535),
                  .fields = fields,
                  .body = {.bytes = largest}};
    expect_passes<GateFrame>(job);
    EXPECT_EQ(encoded(GateFrame{job}).size(), header_size + payload_max);
    const std::string more = line_of(200'000);
    expect_passes<GateFrame>(Job{.id = 7, .fields = more, .body = {.bytes = largest}});
}

TEST(WireLimits, LetThroughTheLargestFrameOfEachKindOfAWorker) {
    expect_passes<WorkerFrame>(Hello{.sdk = of(65535)});
    expect_passes<WorkerFrame>(Loading{.text = of(65535)});
    expect_passes<WorkerFrame>(Progress{.id = 7, .text = of(65535)});
    expect_passes<WorkerFrame>(
        Ready{.example_type = of(255), .example = largest, .facts = of(facts_max)});
    const std::string fields = line_of(fields_max);
    expect_passes<WorkerFrame>(Begin{.id = 7, .fields = fields});
    expect_passes<WorkerFrame>(Chunk{.id = 7, .bytes = largest});
    expect_passes<WorkerFrame>(
        Done{.id = 7, .status = 200, .fields = fields, .body = {.bytes = largest}});
    expect_passes<WorkerFrame>(Failed{.id = 7, .type = of(255), .message = of(message_max)});
    expect_passes<WorkerFrame>(Log{.text = of(message_max)});
    expect_passes<WorkerFrame>(Stacks{.id = 7, .text = of(stacks_max)});
}

/// Appends one byte to a frame, and counts it in the header.
template <class Frame>
std::string told_with_one_more(const Frame& frame) {
    std::string bytes = encoded(frame) + "x";
    const std::size_t size = bytes.size() - header_size;
    for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<char>(size >> (8 * i));
    return transcript_of<Frame>(bytes);
}

TEST(WireLimits, BoundABodyAlsoWhereTheFrameHasRoom) {
    const BodyPart body{.bytes = largest};
    EXPECT_EQ(told_with_one_more<GateFrame>(Job{.id = 7, .body = body}), "length_too_large");
    EXPECT_EQ(told_with_one_more<WorkerFrame>(Done{.id = 7, .status = 200, .body = body}),
              "length_too_large");
}

TEST(WireLimitsDeathTest, AreCheckedByTheEncoder) {
    const auto encode = [](const auto& frame) { (void)encoded(frame); };
    EXPECT_DEATH(encode(WorkerFrame{Chunk{.id = 7}}), "empty");
    EXPECT_DEATH(encode(WorkerFrame{Ready{.example_type = of(256)}}), "most");
    EXPECT_DEATH(encode(WorkerFrame{Log{.text = of(message_max + 1)}}), "message_max");
    EXPECT_DEATH(encode(WorkerFrame{Stacks{.text = of(stacks_max + 1)}}), "stacks_max");
    EXPECT_DEATH(encode(GateFrame{Welcome{.pool = of(65536)}}), "most");
    const Job job{.id = 7, .fields = of(262'200), .body = {.bytes = largest}};
    EXPECT_DEATH(encode(GateFrame{job}), "payload_max");
}

}  // namespace
}  // namespace turnpike::wire::test
