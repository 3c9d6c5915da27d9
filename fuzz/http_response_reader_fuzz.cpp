// A worker's answer and the end of its connection, read by a ResponseReader. Any split of the bytes
// must give the same result.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/http_splits.h"
#include "http/response_reader.h"

namespace {

using namespace turnpike::http;
using fuzz::require;
using State = ResponseReader::State;

constexpr Limits limits{.head_max = 20'000,  // more than the usual buffer
                        .fields_max = 20,
                        .chunk_extension_max = 20,
                        .trailer_max = 100,
                        .interims_max = 3};

class Answer {
public:
    explicit Answer(std::uint8_t options)
        : how_((options & 2) != 0 ? ResponseReader::End::broken : ResponseReader::End::clean) {
        reader_.begin((options & 1) != 0 ? Method::head : Method::get);
    }

    std::span<char> room() { return reader_.room(); }
    void came(std::size_t size) {
        reader_.came(size);
        require(reader_.has_begun(), "a byte is a beginning");
    }

    /// Takes steps until the reader asks for more. Returns true if nothing more is read.
    bool take_all(std::string& told) {
        for (;;) {
            require(!reader_.is_reusable() || reader_.state() == State::whole,
                    "only a whole answer allows another request");
            switch (reader_.next()) {
                case Found::more: return false;
                case Found::head: tell_head(told); break;
                case Found::data:
                    require(!reader_.data().empty(), "a piece has a byte");
                    told.append(reader_.data());
                    break;
                case Found::whole:
                    require(reader_.next() == Found::whole, "the end stays the end");
                    require_allows_reuse_rightly();
                    told.append(" whole");
                    return true;
                case Found::broken:
                    require(reader_.next() == Found::broken, "a breach stays");
                    fuzz::tell_fault(told, reader_.fault());
                    return true;
            }
        }
    }

    void end(std::string& told) {
        reader_.input_ended(how_);
        has_ended_ = true;
        require(take_all(told), "the end of the input ends the answer");
        if (reader_.state() == State::whole)
            require(how_ == ResponseReader::End::clean, "a failed connection ends no body");
    }

private:
    void tell_head(std::string& told) {
        const ResponseHead& head = reader_.head();
        require(!head.is_interim(), "interim answers are dropped");
        fuzz::require_clean(head.fields);
        append_status_line(told, head.status);
        told.append(head.keep_alive ? " k" : " c").append(std::to_string(head.length));
        fuzz::append_fields(told, head.fields);
    }

    void require_allows_reuse_rightly() const {
        if (!reader_.is_reusable()) return;
        const ResponseHead& head = reader_.head();
        require(!has_ended_, "a connection that has ended carries no other request");
        require(head.keep_alive && head.framing != Framing::until_close,
                "the worker keeps the connection");
    }

    ResponseReader reader_{limits};
    ResponseReader::End how_;
    bool has_ended_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    fuzz::require_same_however_split<Answer>(fuzz::SplitInput(input));
    return 0;
}
