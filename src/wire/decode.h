// Bytes → frames, however the bytes were split. Nothing is believed: lengths are checked before memory
// is taken, every part against docs/worker-protocol.md. Whether a frame is in turn is not its business.
//
//     decoder.push(bytes, [&](const wire::WorkerFrame& frame) { … });
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>

#include "wire/frame.h"

namespace turnpike::wire {

/// What is wrong with the bytes. sentence_of() tells it to people.
enum class Breach : std::uint8_t {
    none,
    kind_unknown,
    flags_unknown,
    not_zero,          // a part that must be 0
    size_too_large,    // of the payload
    size_wrong,        // the payload is shorter or longer than its parts
    length_too_large,  // of one of its parts
    value_out_of_bounds,
    not_utf8,
    magic_wrong,              // in hello
    fields_malformed,         // header lines; or one that frames the answer
    descriptor_out_of_place,  // the flag on a frame that has no body
};
std::string_view sentence_of(Breach);

/// How the receiver of frames is called: true goes on; false stops, and the rest of the bytes is dropped.
template <class Frame>
using Take = std::function<bool(const Frame&)>;

/// Frame: GateFrame (for a worker) or WorkerFrame (for the gate). Views in a frame live until `take` returns.
template <class Frame>
class Decoder {
public:
    /// Any breach is final: whoever sent it is not heard any more.
    Breach push(std::string_view bytes, const Take<Frame>& take);
    /// Bytes of a frame that is not complete yet.
    [[nodiscard]] std::size_t pending() const { return pending_.size(); }
    /// The kind of the frame that broke, for the sentence.
    [[nodiscard]] std::uint8_t kind() const { return kind_; }

private:
    std::string pending_;
    std::uint8_t kind_ = 0;
    Breach breach_ = Breach::none;
};

extern template class Decoder<GateFrame>;
extern template class Decoder<WorkerFrame>;

}  // namespace turnpike::wire
