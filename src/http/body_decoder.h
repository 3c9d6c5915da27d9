// The bytes of a body, out of its framing. Constant memory, however many chunks there are.
//
//   BodyDecoder body(head.framing, head.length, limits);
//   for (;;) {
//       const auto step = body.next(bytes);
//       use(step.data);                      // a piece of `bytes`; may be empty
//       bytes.remove_prefix(step.consumed);
//       if (step.progress != Progress::more || step.consumed == 0) break;
//   }
//
// As long as there is `more`, this loop consumes all bytes: the caller need not keep any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

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
            Progress::more;  // done: the body is complete; what follows is not of it
    };

    BodyDecoder() = default;  // of no body: done at once
    BodyDecoder(Framing framing, std::uint64_t length, const Limits& limits);

    /// At most one piece of data a call. Trailers are checked and dropped.
    Step next(std::string_view bytes);

    /// The connection ended: done if that is how this body ends (or it is complete), else fault.
    Progress end();

    [[nodiscard]] Fault fault() const { return fault_; }

private:
    //   chunked:  size ─▶ size_more ─▶ [extension] ─▶ size_lf ─▶ chunk_data ─▶ data_cr ─▶ data_lf ─▶ size
    //                                                    └ 0 ─▶ trailer
    //   trailer:  trailer ─▶ trailer_name ─▶ trailer_value ─▶ trailer_lf ─▶ trailer
    //                └ CR ─▶ last_lf ─▶ complete
    enum class State : std::uint8_t {
        complete,
        failed,
        plain_data,  // remaining_ bytes of it
        endless_data,
        size,  // the first digit
        size_more,
        extension,
        size_lf,
        chunk_data,  // remaining_ bytes of it
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
    std::uint32_t counted_ = 0;  // bytes of the extension or of the trailer; digits of a size
    State state_ = State::complete;
    Fault fault_ = Fault::none;
    std::uint8_t name_size_ = 0;
    std::array<char, name_max> name_{};
};

}  // namespace turnpike::http
