// Shows frames as text, so that tests can compare and print them, and decodes bytes in pieces.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/random.h"
#include "wire/decode.h"
#include "wire/encode.h"
#include "wire/frame.h"

namespace turnpike::wire::test {

/// Returns a line such as `progress 7 250 "step 5"`.
std::string text_of(const GateFrame& frame);
std::string text_of(const WorkerFrame& frame);

/// Feeds a decoder piece by piece and records the result: a line for each frame, and the end. Each
/// piece is a copy of its own, so that the sanitizers find a view that outlives its piece.
template <class Frame>
class Listener {
public:
    void push(std::string_view piece) {
        const std::string copy(piece);
        breach_ = decoder_.push(copy, [&](const Frame& frame) {
            transcript_ += text_of(frame) + "\n";
            return true;
        });
    }
    [[nodiscard]] Breach breach() const { return breach_; }
    [[nodiscard]] std::string transcript() const {
        if (breach_ != Breach::none) return transcript_ + std::string(name_of(breach_));
        return transcript_ + (decoder_.pending() > 0 ? "more" : "end");
    }
    [[nodiscard]] const Decoder<Frame>& decoder() const { return decoder_; }

private:
    Decoder<Frame> decoder_;
    std::string transcript_;
    Breach breach_ = Breach::none;
};

template <class Frame>
std::string transcript_of(std::string_view bytes) {
    Listener<Frame> listener;
    listener.push(bytes);
    return listener.transcript();
}

/// Decodes in pieces of 1 … `piece_max` bytes.
template <class Frame>
std::string transcript_in_pieces(std::string_view bytes, std::uint64_t piece_max,
                                 std::uint64_t seed) {
    Listener<Frame> listener;
    Random random(seed);
    while (!bytes.empty()) {
        const std::size_t size = std::min(bytes.size(), std::size_t{1} + random.below(piece_max));
        listener.push(bytes.substr(0, size));
        bytes.remove_prefix(size);
    }
    return listener.transcript();
}

template <class Frame>
std::string encoded(const Frame& frame) {
    std::string out;
    append_frame(out, frame);
    return out;
}

}  // namespace turnpike::wire::test
