// Bytes → frames, however the bytes were split. Nothing is believed: lengths are checked before
// memory is taken, every part against docs/worker-protocol.md. Whether a frame is in turn is not its
// business (wire/conversation.h).
//
//     decoder.push(bytes, [&](const wire::WorkerFrame& frame) { …; return true; });
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "wire/breach.h"
#include "wire/frame.h"

namespace turnpike::wire {

/// How the receiver of frames is called: true goes on; false stops, and all further bytes are
/// dropped. Only refers to the function: it lives for one call of push().
template <class Frame>
class Take {
public:
    template <class Function>
        requires(!std::same_as<std::remove_cvref_t<Function>, Take> &&
                 std::is_class_v<std::remove_cvref_t<Function>> &&
                 std::is_invocable_r_v<bool, Function&, const Frame&>)
    Take(Function&& function)  // NOLINT: a lambda shall pass as it is
        : function_(&function), call_([](const void* to, const Frame& frame) -> bool {
              using Called = std::remove_reference_t<Function>;
              return (*static_cast<Called*>(const_cast<void*>(to)))(frame);
          }) {}

    bool operator()(const Frame& frame) const { return call_(function_, frame); }

private:
    const void* function_;
    bool (*call_)(const void*, const Frame&);
};

/// Frame: GateFrame (for a worker) or WorkerFrame (for the gate). Views in a frame live until
/// `take` returns. A frame that lies whole in the pushed bytes is read there; only an incomplete one
/// is kept, in memory that is used again (at most that of the largest frame).
template <class Frame>
class Decoder {
public:
    /// Any breach is final: whoever sent it is not heard any more. Once `take` has returned false
    /// the decoder is not touched, so that `take` may end its life.
    Breach push(std::string_view bytes, Take<Frame> take);
    /// Bytes of a frame that is not complete yet.
    [[nodiscard]] std::size_t pending() const { return pending_.size(); }
    /// The kind of the last frame, also of one that broke: for the sentence.
    [[nodiscard]] std::uint8_t kind() const { return kind_; }

private:
    std::string_view next_frame(std::string_view& bytes);
    std::size_t judge_header(std::string_view frame);
    bool fill_pending(std::string_view& bytes, std::size_t size);

    std::string pending_;
    std::uint8_t kind_ = 0;
    Breach breach_ = Breach::none;
    bool is_stopped_ = false;
};

extern template class Decoder<GateFrame>;
extern template class Decoder<WorkerFrame>;

}  // namespace turnpike::wire
