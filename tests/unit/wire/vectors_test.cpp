// The codec agrees with the vectors of sdk/conformance, which another program made from the
// documented layout.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <variant>

#include "tests/unit/wire/frame_text.h"
#include "tests/unit/wire/vector_frame.h"

namespace turnpike::wire::test {
namespace {

struct Vector {
    std::string name;
    std::string direction;
    std::string bytes;
    std::string breach;  // empty for a good frame
    boost::json::object frame;
};

std::vector<Vector> read_vectors() {
    std::ifstream file(TURNPIKE_WIRE_VECTORS);
    std::ostringstream text;
    text << file.rdbuf();
    std::vector<Vector> vectors;
    const boost::json::value parsed = boost::json::parse(text.str());
    for (const boost::json::value& value : parsed.as_array()) {
        const auto& row = value.as_object();
        const auto word = [&](std::string_view key) {
            return std::string(row.at(key).as_string());
        };
        Vector vector{.name = word("name"),
                      .direction = word("direction"),
                      .bytes = bytes_of_hex(word("hex"))};
        if (row.at("breach").is_null())
            vector.frame = row.at("frame").as_object();
        else
            vector.breach = word("breach");
        vectors.push_back(std::move(vector));
    }
    return vectors;
}

const std::vector<Vector>& all_vectors() {
    static const std::vector<Vector> vectors = read_vectors();
    return vectors;
}

template <class Frame>
void expect_transcript(const Vector& vector, const std::string& expected) {
    EXPECT_EQ(transcript_of<Frame>(vector.bytes), expected) << vector.name;
    EXPECT_EQ(transcript_in_pieces<Frame>(vector.bytes, 1, 0), expected) << vector.name;
}

template <class Frame>
void expect_good(const Vector& vector, const Frame& frame) {
    EXPECT_EQ(encoded(frame), vector.bytes) << vector.name;
    expect_transcript<Frame>(vector, text_of(frame) + "\nend");
}

TEST(Vectors, ThatAreGoodMeanWhatTheySay) {
    std::set<std::pair<std::string, std::size_t>> kinds;
    for (const Vector& vector : all_vectors()) {
        if (!vector.breach.empty()) continue;
        Storage storage;
        if (vector.direction == "gate") {
            const GateFrame frame = gate_frame_of(vector.frame, storage);
            kinds.emplace("gate", frame.index());
            expect_good(vector, frame);
        } else {
            const WorkerFrame frame = worker_frame_of(vector.frame, storage);
            kinds.emplace("worker", frame.index());
            expect_good(vector, frame);
        }
    }
    const std::size_t kinds_of_gate = std::variant_size_v<GateFrame>;
    EXPECT_EQ(kinds.size(), kinds_of_gate + std::variant_size_v<WorkerFrame>);
}

TEST(Vectors, ThatAreMalformedAreRefusedForTheirReason) {
    std::set<std::string> breaches;
    for (const Vector& vector : all_vectors()) {
        if (vector.breach.empty()) continue;
        breaches.insert(vector.breach);
        if (vector.direction == "gate")
            expect_transcript<GateFrame>(vector, vector.breach);
        else
            expect_transcript<WorkerFrame>(vector, vector.breach);
    }
    EXPECT_EQ(breaches.size(), static_cast<std::size_t>(Breach::descriptor_out_of_place));
}

TEST(Vectors, InARowAreHeardUpToTheFirstThatIsMalformed) {
    std::string bytes;
    std::string expected;
    for (const Vector& vector : all_vectors()) {
        if (vector.direction != "worker") continue;
        bytes += vector.bytes;
        if (!vector.breach.empty()) {
            expected += vector.breach;
            break;
        }
        Storage storage;
        expected += text_of(worker_frame_of(vector.frame, storage)) + "\n";
    }
    EXPECT_EQ(transcript_of<WorkerFrame>(bytes), expected);
    for (std::uint64_t seed = 0; seed < 200; ++seed)
        ASSERT_EQ(transcript_in_pieces<WorkerFrame>(bytes, 1 + seed, seed), expected);
}

}  // namespace
}  // namespace turnpike::wire::test
