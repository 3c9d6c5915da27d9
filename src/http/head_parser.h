// Strict, incremental parsing of heads. The caller keeps the bytes, from the first byte of the
// message on, in one piece and calls again when there are more; nothing is looked at twice, nothing
// is copied. However the bytes are split, the result is the same.
//
//   RequestParser parser(limits);
//   switch (parser.parse(buffer)) {
//       case Progress::more: read more, append it, parse again
//       case Progress::done: parser.head(), the body begins at buffer[parser.size()]
//       case Progress::fault: parser.fault()
//   }
//   parser.reset();  // for the next message
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "http/fault.h"
#include "http/message.h"

namespace turnpike::http {

enum class Progress : std::uint8_t { more, done, fault };

// (to be filled in: RequestParser, ResponseParser)

class RequestParser {
public:
    explicit RequestParser(const Limits& limits);

    /// `bytes`: all of the message so far. Empty lines (CRLF) before the first are skipped, two at most.
    Progress parse(std::string_view bytes);

    /// After done; its views are into the bytes of the last parse().
    [[nodiscard]] const RequestHead& head() const;
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] Fault fault() const;
    void reset();
};

class ResponseParser {
public:
    explicit ResponseParser(const Limits& limits);

    /// `asked`: the method of the request that this answers; it decides whether there is a body.
    Progress parse(std::string_view bytes, Method asked);

    [[nodiscard]] const ResponseHead& head() const;
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] Fault fault() const;
    void reset();
};

}  // namespace turnpike::http
