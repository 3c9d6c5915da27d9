// The bytes of a worker: responses in a row, to GET and to HEAD. A response that is accepted can be
// written again, and then means the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/http_properties.h"
#include "http/response_parser.h"

namespace {

using namespace turnpike::http;
using fuzz::require;

constexpr Limits limits{
    .head_max = 1000, .fields_max = 20, .chunk_extension_max = 20, .trailer_max = 100};

void require_well_formed(const ResponseHead& head, Method asked) {
    fuzz::require_clean(head.fields);
    fuzz::require_one_framing(head.fields, head.framing);
    require(head.status >= 100 && head.status <= 599 && head.status != 101,
            "a status is from 100 to 599, but not 101");
    const bool has_none =
        asked == Method::head || head.is_interim() || head.status == 204 || head.status == 304;
    require(has_none == (head.framing == Framing::none),
            "a response that can have no body has no framing");
    if (head.framing == Framing::until_close)
        require(!head.keep_alive, "nothing follows a body that ends with the connection");
}

void require_written_is_read(const ResponseHead& head, Method asked) {
    std::string out;
    append_status_line(out, head.status);
    fuzz::append_fields(out, head.fields);
    ResponseParser parser({});
    require(parser.parse(out, asked) == Progress::done, "what is written parses");
    const ResponseHead& again = parser.head();
    require(parser.size() == out.size(), "the head is everything that was written");
    require(again.status == head.status, "the status is the same");
    require(again.framing == head.framing && again.length == head.length,
            "the framing is the same");
    require(again.keep_alive == head.keep_alive, "keep-alive is the same");
    require(fuzz::are_equal(again.fields, head.fields), "the fields are the same");
}

template <Method asked>
struct Responses {
    ResponseParser parser{limits};

    Progress parse(std::string_view bytes, std::string& told) {
        const Progress progress = parser.parse(bytes, asked);
        if (progress != Progress::done) return progress;
        const ResponseHead& head = parser.head();
        require_well_formed(head, asked);
        if (head.version == Version::http_1_1) require_written_is_read(head, asked);
        append_status_line(told, head.status);
        append_field(told, "length", head.length);
        told +=
            {static_cast<char>('0' + static_cast<int>(head.framing)),
             static_cast<char>('0' + static_cast<int>(head.version)), head.keep_alive ? 'k' : 'c'};
        fuzz::append_fields(told, head.fields);
        return progress;
    }
    [[nodiscard]] BodyDecoder body() const {
        return {parser.head().framing, parser.head().length, limits};
    }
    [[nodiscard]] bool is_last() const { return !parser.head().keep_alive; }
    [[nodiscard]] std::size_t size() const { return parser.size(); }
    [[nodiscard]] Fault fault() const { return parser.fault(); }
    void reset() { parser.reset(); }
};

template <Method asked>
void try_as_answer_to(std::string_view raw) {
    fuzz::require_same_however_split<Responses<asked>>(raw, [] { return Responses<asked>{}; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view raw(reinterpret_cast<const char*>(data), size);
    try_as_answer_to<Method::get>(raw);
    try_as_answer_to<Method::head>(raw);
    return 0;
}
