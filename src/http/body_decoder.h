// Takes the bytes of a body out of its framing. Needs constant memory, however many chunks there
// are.
//
//   BodyDecoder body(head.framing, head.length, limits);
//   for (;;) {
//       const auto step = body.next(bytes);
//       use(step.data);                      // a piece of `bytes`; may be empty
//       bytes.remove_prefix(step.consumed);
//       if (step.progress != Progress::more || step.consumed == 0) break;
//   }
//
// While the progress is `more`, this loop consumes all bytes, so the caller need not keep any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/chunk_extension.h"
#include "http/fault.h"
#include "http/message.h"
#include "http/progress.h"

namespace turnpike::http {

class BodyDecoder {
public:
    struct Step {
        std::size_t consumed = 0;
        std::string_view data;
        Progress progress =
            Progress::more;  // after `done` all further bytes belong to the next message
    };

    BodyDecoder() = default;  // for a message without a body: done at once
    BodyDecoder(Framing framing, std::uint64_t length, const Limits& limits);

    /// Returns at most one piece of data per call. Checks trailers and drops them.
    Step next(std::string_view bytes);

    /// Must be called when the connection has ended. Returns `done` if the body is complete or ends
    /// with its connection, otherwise `fault`.
    Progress end();

    [[nodiscard]] Fault fault() const { return fault_; }

private:
    //   chunked:  size ─▶ size_more ─▶ [extension] ─▶ size_lf ─▶ chunk_data
    //                                                    └ 0 ─▶ trailer
    //             chunk_data ─▶ data_cr ─▶ data_lf ─▶ size
    //   trailer:  trailer ─▶ trailer_name ─▶ trailer_value ─▶ trailer_lf ─▶ trailer
    //                └ CR ─▶ last_lf ─▶ complete
    enum class State : std::uint8_t {
        complete,
        failed,
        plain_data,  // remaining_ bytes are left
        endless_data,
        size,  // the first digit
        size_more,
        extension,
        size_lf,
        chunk_data,  // remaining_ bytes are left
        data_cr,
        data_lf,
        trailer,  // the first byte of a line
        trailer_name,
        trailer_value,
        trailer_lf,
        last_lf,
    };

    [[nodiscard]] bool is_data() const;
    void take(char c);
    void take_size(char c);
    void take_extension(char c);
    void take_trailer_name(char c);
    void take_trailer_value(char c);
    bool count_trailer_byte();
    void take_lf(char c, State then);
    std::string_view take_data(std::string_view bytes);
    void fail(Fault fault);

    static constexpr std::size_t name_max =
        32;  // longer than any name that is refused in a trailer

    std::uint64_t remaining_ = 0;
    std::uint32_t extension_max_ = 0;
    std::uint32_t trailer_max_ = 0;
    std::uint32_t counted_ = 0;  // bytes of the extension or trailer, or digits of a size, so far
    State state_ = State::complete;
    ChunkExtension extension_{};
    Fault fault_ = Fault::none;
    std::uint8_t name_size_ = 0;
    std::array<char, name_max> name_{};
};

}  // namespace turnpike::http
