// The requests of a connection, read by a RequestReader whose owner takes each body or skips it.
// Any split of the bytes must give the same result.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/http_splits.h"
#include "http/request_reader.h"

namespace {

using namespace turnpike::http;
using fuzz::require;
using State = RequestReader::State;

constexpr Limits limits{.target_max = 200,
                        .head_max = 6000,  // more than the usual buffer
                        .fields_max = 20,
                        .chunk_extension_max = 20,
                        .trailer_max = 100};

class Requests {
public:
    /// With odd options every second body is skipped.
    explicit Requests(std::uint8_t options) : skips_(options % 2 == 1) {}

    std::span<char> room() { return reader_.room(); }
    void came(std::size_t size) { reader_.came(size); }

    /// Takes steps until the reader asks for more. Returns true if nothing more is read.
    bool take_all(std::string& told) {
        for (;;) {
            if (is_skipping_ && reader_.state() == State::body) {
                const bool is_here = reader_.has_whole_request();
                const bool is_whole = reader_.skip_body();
                require(is_whole || !is_here, "a body that is here can be skipped");
                if (reader_.state() == State::body) return false;
                continue;
            }
            switch (reader_.next()) {
                case Found::more:
                    require(!reader_.has_input() || reader_.state() == State::head,
                            "all bytes of a body are taken");
                    return false;
                case Found::head: tell_head(told); break;
                case Found::data: tell_data(told); break;
                case Found::whole:
                    if (end_request(told)) return true;
                    break;
                case Found::broken:
                    fuzz::tell_fault(told, reader_.fault());
                    require_discards();
                    return true;
            }
        }
    }

    void end(std::string& told) const {
        told.append(" ends ").append(std::to_string(static_cast<int>(reader_.state())));
        if (reader_.state() == State::head && reader_.has_input()) told.append(" in a head");
    }

private:
    void tell_head(std::string& told) {
        const RequestHead& head = reader_.head();
        fuzz::require_clean(head.fields);
        append_request_line(told, head.method, head.target);
        told.append(head.host).append(head.keep_alive ? " k" : " c");
        told.append(std::to_string(head.length));
        fuzz::append_fields(told, head.fields);
        is_skipping_ = skips_ && ++count_ % 2 == 0;
        data_size_ = 0;
        framing_ = head.framing;
        length_ = head.length;
    }

    void tell_data(std::string& told) {
        require(!reader_.data().empty(), "a piece has a byte");
        told.append(reader_.data());
        data_size_ += reader_.data().size();
        require(data_size_ <= reader_.body_bytes_taken(), "data is a part of the body");
    }

    /// Returns true if this was the last request.
    bool end_request(std::string& told) {
        require(reader_.has_whole_request(), "the whole request has come");
        require(reader_.next() == Found::whole, "the end stays the end");
        if (framing_ != Framing::chunked)
            require(reader_.body_bytes_taken() == length_, "the body has its length");
        told.append(" whole ").append(std::to_string(reader_.body_bytes_taken()));
        if (!reader_.head().keep_alive) return true;
        reader_.begin_next();
        is_skipping_ = false;
        return false;
    }

    void require_discards() {
        require(reader_.next() == Found::broken, "a breach stays");
        reader_.discard_rest();
        require(!reader_.has_input() && reader_.next() == Found::more, "the rest is dropped");
    }

    RequestReader reader_{limits};
    bool skips_;
    bool is_skipping_ = false;
    int count_ = 0;
    Framing framing_ = Framing::none;
    std::uint64_t length_ = 0;
    std::uint64_t data_size_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    fuzz::require_same_however_split<Requests>(fuzz::SplitInput(input));
    return 0;
}
