// Decodes bytes into frames, however the bytes are split. Lengths are checked before memory is
// allocated, and every part is checked against docs/worker-protocol.md. wire/conversation.h checks
// the order of the frames.
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

/// A reference to the function that receives the frames. The function returns true to go on, or
/// false to stop; then all further bytes are dropped. The function must live until push() returns.
template <class Frame>
class Take {
public:
    template <class Function>
        requires(!std::same_as<std::remove_cvref_t<Function>, Take> &&
                 std::is_class_v<std::remove_cvref_t<Function>> &&
                 std::is_invocable_r_v<bool, Function&, const Frame&>)
    Take(Function&& function)  // NOLINT: implicit, so that a lambda can be passed
        : function_(&function), call_([](const void* to, const Frame& frame) -> bool {
              using Called = std::remove_reference_t<Function>;
              return (*static_cast<Called*>(const_cast<void*>(to)))(frame);
          }) {}

    bool operator()(const Frame& frame) const { return call_(function_, frame); }

private:
    const void* function_;
    bool (*call_)(const void*, const Frame&);
};

/// Frame is GateFrame (for a worker) or WorkerFrame (for the gate). Views in a frame are valid
/// until `take` returns. A complete frame is read from the pushed bytes without a copy. An
/// incomplete frame is copied to a buffer that is reused and never grows beyond the largest frame.
template <class Frame>
class Decoder {
public:
    /// Decodes the bytes and calls `take` for each frame. Returns the breach, if there is one;
    /// after a breach all further bytes are dropped. After `take` has returned false, push() does
    /// not touch the decoder, so that `take` may destroy it.
    Breach push(std::string_view bytes, Take<Frame> take);
    /// Returns how many bytes of an incomplete frame are kept.
    [[nodiscard]] std::size_t pending() const { return pending_.size(); }
    /// Returns the kind of the last frame, also if that frame had a breach, for error messages.
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
