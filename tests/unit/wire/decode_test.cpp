// Decoding of encoded frames, however the bytes are split, and when a decoder stops.
#include <gtest/gtest.h>

#include "tests/unit/wire/samples.h"

namespace turnpike::wire::test {
namespace {

template <class Frame>
void expect_each_comes_back(const std::vector<Frame>& samples) {
    for (const Frame& frame : samples)
        EXPECT_EQ(transcript_of<Frame>(encoded(frame)), text_of(frame) + "\nend");
}

template <class Frame>
void expect_same_at_every_split(const std::vector<Frame>& samples) {
    const std::string bytes = encoded_samples(samples);
    for (std::size_t at = 0; at <= bytes.size(); ++at) {
        Listener<Frame> listener;
        listener.push(std::string_view(bytes).substr(0, at));
        listener.push(std::string_view(bytes).substr(at));
        ASSERT_EQ(listener.transcript(), transcript_of_samples(samples)) << "split at " << at;
    }
}

template <class Frame>
void expect_same_in_pieces(const std::vector<Frame>& samples) {
    const std::string bytes = encoded_samples(samples);
    EXPECT_EQ(transcript_in_pieces<Frame>(bytes, 1, 0), transcript_of_samples(samples));
    for (std::uint64_t seed = 1; seed <= 500; ++seed)
        ASSERT_EQ(transcript_in_pieces<Frame>(bytes, 1 + seed % 90, seed),
                  transcript_of_samples(samples))
            << "seed " << seed;
}

TEST(Decoder, GivesBackEachFrameOfTheGate) { expect_each_comes_back(gate_samples); }
TEST(Decoder, GivesBackEachFrameOfAWorker) { expect_each_comes_back(worker_samples); }

TEST(Decoder, TakesManyFramesAtOnce) {
    EXPECT_EQ(transcript_of<GateFrame>(encoded_samples(gate_samples)),
              transcript_of_samples(gate_samples));
    EXPECT_EQ(transcript_of<WorkerFrame>(encoded_samples(worker_samples)),
              transcript_of_samples(worker_samples));
}

TEST(Decoder, HearsTheGateTheSameAtEverySplit) { expect_same_at_every_split(gate_samples); }
TEST(Decoder, HearsAWorkerTheSameAtEverySplit) { expect_same_at_every_split(worker_samples); }
TEST(Decoder, HearsTheGateTheSameInPieces) { expect_same_in_pieces(gate_samples); }
TEST(Decoder, HearsAWorkerTheSameInPieces) { expect_same_in_pieces(worker_samples); }

TEST(Decoder, TellsHowMuchOfAFrameIsThere) {
    const std::string bytes = encoded(WorkerFrame{Chunk{.id = 7, .bytes = "12345"}});
    Listener<WorkerFrame> listener;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        EXPECT_EQ(listener.decoder().pending(), i);
        listener.push(bytes.substr(i, 1));
    }
    EXPECT_EQ(listener.decoder().pending(), 0U);
    EXPECT_EQ(listener.transcript(), "chunk 7 \"12345\"\nend");
}

TEST(Decoder, ReadsAWholeFrameWithoutACopy) {
    const std::string bytes = encoded_samples(worker_samples);
    Decoder<WorkerFrame> decoder;
    int chunks = 0;
    const Breach breach = decoder.push(bytes, [&](const WorkerFrame& frame) {
        if (const Chunk* const chunk = std::get_if<Chunk>(&frame)) {
            EXPECT_EQ(chunk->bytes.data(), bytes.data() + bytes.find("chunk"));
            ++chunks;
        }
        return true;
    });
    EXPECT_EQ(breach, Breach::none);
    EXPECT_EQ(chunks, 1);
}

TEST(Decoder, NeverSpeaksAgainAfterABreach) {
    const std::string good = encoded(WorkerFrame{Pong{.id = 1}});
    std::string bad = good;
    bad[5] = 2;
    Listener<WorkerFrame> listener;
    listener.push(good + bad + good);
    EXPECT_EQ(listener.transcript(), "pong 1\nflags_unknown");
    EXPECT_EQ(listener.decoder().kind(), 0x89);
    listener.push(good);
    EXPECT_EQ(listener.transcript(), "pong 1\nflags_unknown");
}

TEST(Decoder, NeverSpeaksAgainAfterABreachWithinAFrame) {
    const std::string good = encoded(WorkerFrame{Pong{.id = 1}});
    std::string bad = encoded(WorkerFrame{Loading{}});
    bad[16] = 2;
    for (const std::size_t split : {std::size_t{0}, std::size_t{20}}) {
        Listener<WorkerFrame> listener;
        listener.push(bad.substr(0, split));
        listener.push(bad.substr(split) + good);
        EXPECT_EQ(listener.decoder().kind(), 0x82);
        listener.push(good);
        EXPECT_EQ(listener.transcript(), "value_out_of_bounds");
    }
}

TEST(Decoder, DropsAllThatFollowsOnceItIsStopped) {
    const std::string bytes = encoded_samples(worker_samples);
    Decoder<WorkerFrame> decoder;
    int calls = 0;
    const auto stop_at_the_second = [&](const WorkerFrame&) { return ++calls < 2; };
    EXPECT_EQ(decoder.push(bytes, stop_at_the_second), Breach::none);
    EXPECT_EQ(decoder.push(bytes, stop_at_the_second), Breach::none);
    EXPECT_EQ(calls, 2);
}

TEST(Decoder, MayBeEndedByItsReceiver) {
    const std::string bytes = encoded_samples(worker_samples);
    for (const std::size_t split : {std::size_t{0}, std::size_t{5}}) {
        auto decoder = std::make_unique<Decoder<WorkerFrame>>();
        const auto end_it = [&](const WorkerFrame&) {
            decoder.reset();
            return false;
        };
        EXPECT_EQ(decoder->push(bytes.substr(0, split), end_it), Breach::none);
        EXPECT_EQ(decoder->push(bytes.substr(split), end_it), Breach::none);
        EXPECT_EQ(decoder, nullptr);
    }
}

TEST(Encode, LeavesTheBodyOfAJobToTheCaller) {
    for (const GateFrame& frame : gate_samples) {
        const Job* const job = std::get_if<Job>(&frame);
        if (job == nullptr) continue;
        std::string out = "before";
        append_head(out, *job);
        EXPECT_EQ(out + std::string(job->body.bytes), "before" + encoded(frame));
    }
}

TEST(Breach, HasANameAndASentenceEach) {
    std::set<std::string_view> names;
    std::set<std::string_view> sentences;
    const int count = static_cast<int>(Breach::pause_ignored) + 1;
    for (int i = 0; i < count; ++i) {
        names.insert(name_of(static_cast<Breach>(i)));
        sentences.insert(sentence_of(static_cast<Breach>(i)));
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(sentences.size(), static_cast<std::size_t>(count));
}

}  // namespace
}  // namespace turnpike::wire::test
