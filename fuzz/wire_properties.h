// What must hold for any bytes that a decoder of frames gets, however they are split.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/random.h"
#include "wire/decode.h"
#include "wire/encode.h"

namespace turnpike::wire::fuzz {

inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "violated: %s\n", what);
    std::abort();
}

/// What a decoder made of some bytes.
struct Heard {
    std::string frames;  // encoded again
    Breach breach = Breach::none;
    std::size_t pending = 0;
    std::uint8_t kind = 0;

    friend bool operator==(const Heard&, const Heard&) = default;
};

/// Decodes the bytes in pieces of 1 … `piece_max` bytes, or all at once if that is 0. Each piece
/// has its own memory, so that the sanitizer finds a view that outlives its piece.
template <class Frame>
Heard hear(std::string_view raw, std::uint64_t piece_max) {
    Heard heard;
    Decoder<Frame> decoder;
    Random random(raw.size() + piece_max);
    while (!raw.empty()) {
        const std::size_t wanted = piece_max == 0 ? raw.size() : 1 + random.below(piece_max);
        const std::string piece(raw.substr(0, wanted));
        raw.remove_prefix(piece.size());
        const Breach breach = decoder.push(piece, [&](const Frame& frame) {
            require(heard.breach == Breach::none, "no frame is decoded after a breach");
            append_frame(heard.frames, frame);
            return true;
        });
        require(heard.breach == Breach::none || breach == heard.breach, "a breach is final");
        heard.breach = breach;
        require(decoder.pending() <= header_size + payload_max,
                "the decoder keeps a bounded number of bytes");
    }
    heard.pending = heard.breach == Breach::none ? decoder.pending() : 0;
    heard.kind = decoder.kind();
    return heard;
}

template <class Frame>
void require_frames(std::string_view raw) {
    const Heard whole = hear<Frame>(raw, 0);
    for (const std::uint64_t piece_max : {1U, 7U, 40U, 300U})
        require(hear<Frame>(raw, piece_max) == whole, "any split gives the same result");
    require(raw.starts_with(whole.frames), "decoded frames are encoded to the same bytes");
    if (whole.breach == Breach::none)
        require(raw.size() == whole.frames.size() + whole.pending, "no byte is lost");
    require(hear<Frame>(whole.frames, 0).frames == whole.frames,
            "encoded frames are decoded again");
    require(!name_of(whole.breach).empty(), "a breach has a name");
}

}  // namespace turnpike::wire::fuzz
