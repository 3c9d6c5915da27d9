#include "tests/unit/http/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/random.h"
#include "http/body_decoder.h"
#include "http/request_parser.h"
#include "http/response_parser.h"
#include "tests/unit/http/reading.h"

namespace turnpike::http::test {

namespace {

constexpr int random_splits = 8;

/// The bytes that came and were not consumed. They move to a new place each time, to catch stale
/// views.
class Buffer {
public:
    void append(std::string_view piece) { bytes_ = std::string(bytes_).append(piece); }
    void consume(std::size_t size) { bytes_ = bytes_.substr(size); }
    [[nodiscard]] const std::string& bytes() const { return bytes_; }

private:
    std::string bytes_;
};

/// Reads one side of a connection, and says in words what it read.
class Reader {
public:
    virtual ~Reader() = default;

    void feed(std::string_view piece) {
        if (closed_) return;
        buffer_.append(piece);
        while (!closed_ && (in_body_ ? read_body() : read_head())) {
        }
    }

    std::string finish() {
        if (closed_) return told_;
        if (in_body_) {
            if (body_.end() == Progress::fault)
                return told_ + "\" fault " + std::string(name_of(body_.fault()));
            return told_ + "\"";
        }
        if (!buffer_.bytes().empty()) begin("partial");
        return told_;
    }

protected:
    struct Head {
        Progress progress;
        Fault fault;
        std::size_t size;
        std::string words;
        Framing framing;
        std::uint64_t length;
        bool keep_alive;
    };

    virtual Head parse(std::string_view bytes) = 0;
    virtual void reset() = 0;

    explicit Reader(const Limits& limits) : limits_(limits) {}

private:
    void begin(std::string_view words) {
        if (!told_.empty()) told_ += " | ";
        told_ += words;
    }

    bool read_head() {
        const Head head = parse(buffer_.bytes());
        if (head.progress == Progress::more) return false;
        if (head.progress == Progress::fault) {
            begin("fault " + std::string(name_of(head.fault)));
            closed_ = true;
            return false;
        }
        begin(head.words);
        last_ = !head.keep_alive;
        buffer_.consume(head.size);
        reset();
        in_body_ = head.framing != Framing::none;
        if (in_body_)
            told_ += " \"";
        else
            closed_ = last_;
        body_ = BodyDecoder(head.framing, head.length, limits_);
        return !closed_ && (in_body_ || !buffer_.bytes().empty());
    }

    bool read_body() {
        const auto step = body_.next(buffer_.bytes());
        told_ += step.data;
        buffer_.consume(step.consumed);
        if (step.progress == Progress::more) return step.consumed > 0;
        told_ += "\"";
        if (step.progress == Progress::fault)
            told_ += " fault " + std::string(name_of(body_.fault()));
        closed_ = last_ || step.progress == Progress::fault;
        in_body_ = false;
        return !buffer_.bytes().empty();
    }

    Limits limits_;
    Buffer buffer_;
    BodyDecoder body_;
    std::string told_;
    bool in_body_ = false;
    bool last_ = false;
    bool closed_ = false;
};

class RequestReader : public Reader {
public:
    explicit RequestReader(const Limits& limits) : Reader(limits), parser_(limits) {}

private:
    Head parse(std::string_view bytes) override {
        const Progress progress = parser_.parse(bytes);
        if (progress != Progress::done) return {.progress = progress, .fault = parser_.fault()};
        const RequestHead& head = parser_.head();
        std::string words = std::string(name_of(head.method)) + " " + std::string(head.target);
        words += head.keep_alive ? " keep" : " close";
        if (head.expects_continue) words += " continue";
        return {progress,     Fault::none, parser_.size(), words,
                head.framing, head.length, head.keep_alive};
    }
    void reset() override { parser_.reset(); }

    RequestParser parser_;
};

class ResponseReader : public Reader {
public:
    ResponseReader(const Limits& limits, Method asked)
        : Reader(limits), parser_(limits), asked_(asked) {}

private:
    Head parse(std::string_view bytes) override {
        const Progress progress = parser_.parse(bytes, asked_);
        if (progress != Progress::done) return {.progress = progress, .fault = parser_.fault()};
        const ResponseHead& head = parser_.head();
        const std::string words =
            std::to_string(head.status) + (head.keep_alive ? " keep" : " close");
        return {progress,     Fault::none, parser_.size(), words,
                head.framing, head.length, head.keep_alive};
    }
    void reset() override { parser_.reset(); }

    ResponseParser parser_;
    Method asked_;
};

/// Delivers the bytes in pieces of 1 to piece_max bytes.
template <class AnyReader>
std::string deliver(AnyReader&& reader, std::string_view raw, std::uint64_t piece_max,
                    Random random) {
    while (!raw.empty()) {
        const std::size_t size = std::min<std::size_t>(1 + random.below(piece_max), raw.size());
        reader.feed(raw.substr(0, size));
        raw.remove_prefix(size);
    }
    return reader.finish();
}

template <class MakeReader>
void expect_same_however_split(const Row& row, MakeReader make_reader) {
    auto whole = make_reader();
    whole.feed(row.raw);
    EXPECT_EQ(whole.finish(), row.expected) << row.name << ", whole";
    EXPECT_EQ(deliver(make_reader(), row.raw, 1, Random(0)), row.expected)
        << row.name << ", byte by byte";
    for (std::uint64_t seed = 1; seed <= random_splits; ++seed)
        EXPECT_EQ(deliver(make_reader(), row.raw, 4 * seed, Random(seed)), row.expected)
            << row.name << ", split with seed " << seed;
}

}  // namespace

void expect_requests(const Rows& rows, const Limits& limits) {
    for (const Row& row : rows) {
        expect_same_however_split(row, [&] { return RequestReader(limits); });
        expect_same_however_split(row, [&] { return RequestsRead(limits); });
    }
}

void expect_responses(const Rows& rows, Method asked, const Limits& limits) {
    for (const Row& row : rows) {
        expect_same_however_split(row, [&] { return ResponseReader(limits, asked); });
        const bool is_one_answer = !row.expected.contains('|') && !row.expected.starts_with('1');
        if (is_one_answer)  // a ResponseReader skips interim answers, and reads one answer
            expect_same_however_split(row, [&] { return ResponseRead(limits, asked); });
    }
}

}  // namespace turnpike::http::test
