// The bytes of a body, out of its framing. Constant memory, however many chunks there are.
//
//   BodyDecoder body(head.framing, head.length, limits);
//   for (;;) {
//       const auto step = body.next(bytes);
//       use(step.data);                      // a piece of `bytes`; may be empty
//       bytes.remove_prefix(step.consumed);
//       if (step.progress != Progress::more || step.consumed == 0) break;
//   }
#pragma once

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

    [[nodiscard]] Fault fault() const;
};

}  // namespace turnpike::http
