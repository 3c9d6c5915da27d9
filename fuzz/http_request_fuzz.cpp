// The bytes of a client: requests in a row. A request that is accepted can be written again, and
// then means the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/http_properties.h"
#include "http/request_parser.h"

namespace {

using namespace turnpike::http;
using fuzz::require;

constexpr Limits limits{.target_max = 200,
                        .head_max = 1000,
                        .fields_max = 20,
                        .chunk_extension_max = 20,
                        .trailer_max = 100};

void require_well_formed(const RequestHead& head) {
    fuzz::require_clean(head.fields);
    fuzz::require_one_framing(head.fields, head.framing);
    require(head.framing != Framing::until_close, "a request does not end with the connection");
    const bool is_star = head.target == "*" && head.method == Method::options;
    require(is_star || head.target.starts_with('/'), "a target is a path or the star of OPTIONS");
    for (const char c : head.target)
        require(c > ' ' && c < 0x7f && c != '#', "a target has no space, control byte or #");
    require(!head.target.substr(0, head.target.find('?')).contains('\\'),
            "a path has no backslash");
    if (head.version == Version::http_1_0) return;
    require(!head.host.empty(), "HTTP/1.1 names its host");
    require(only(head.fields, "host").has_value(), "there is one Host field");
}

void require_written_is_read(const RequestHead& head) {
    std::string out;
    append_request_line(out, head.method, head.target);
    fuzz::append_fields(out, head.fields);
    RequestParser parser({});
    require(parser.parse(out) == Progress::done, "what is written parses");
    const RequestHead& again = parser.head();
    require(parser.size() == out.size(), "the head is everything that was written");
    require(again.method == head.method && again.target == head.target,
            "method and target are the same");
    require(is_named(again.host, head.host), "the host is the same");
    require(again.framing == head.framing && again.length == head.length,
            "the framing is the same");
    require(again.keep_alive == head.keep_alive, "keep-alive is the same");
    require(again.expects_continue == head.expects_continue, "Expect is the same");
    require(fuzz::are_equal(again.fields, head.fields), "the fields are the same");
}

struct Requests {
    RequestParser parser{limits};

    Progress parse(std::string_view bytes, std::string& told) {
        const Progress progress = parser.parse(bytes);
        if (progress != Progress::done) return progress;
        const RequestHead& head = parser.head();
        require_well_formed(head);
        if (head.version == Version::http_1_1) require_written_is_read(head);
        append_request_line(told, head.method, head.target);
        append_field(told, head.host, head.length);
        told += {static_cast<char>('0' + static_cast<int>(head.framing)),
                 static_cast<char>('0' + static_cast<int>(head.version)),
                 head.keep_alive ? 'k' : 'c', head.expects_continue ? 'e' : '-'};
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::require_same_however_split<Requests>({reinterpret_cast<const char*>(data), size},
                                               [] { return Requests{}; });
    return 0;
}
