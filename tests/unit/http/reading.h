// What a RequestReader or ResponseReader finds in the bytes that it gets, in the words of rows.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "http/request_reader.h"
#include "http/response_reader.h"

namespace turnpike::http::test {

/// Puts as many bytes into the reader as there is room for, at once. Returns how many.
template <class Reader>
std::size_t put(Reader& reader, std::string_view bytes) {
    const std::span<char> room = reader.room();
    const std::size_t size = std::min(room.size(), bytes.size());
    if (size > 0) std::memcpy(room.data(), bytes.data(), size);
    reader.came(size);
    return size;
}

inline std::string words_of(const RequestHead& head) {
    std::string words = std::string(name_of(head.method)) + " " + std::string(head.target);
    words += head.keep_alive ? " keep" : " close";
    if (head.expects_continue) words += " continue";
    return words;
}

inline std::string words_of(const ResponseHead& head) {
    return std::to_string(head.status) + (head.keep_alive ? " keep" : " close");
}

/// Takes everything that the reader finds, and says it in words.
template <class Reader>
class Reading {
public:
    explicit Reading(Reader reader) : reader_(std::move(reader)) {}

    void feed(std::string_view bytes) {
        while (!bytes.empty() && !is_over_) {
            const std::size_t size = put(reader_, bytes);
            CHECK(size > 0);
            bytes.remove_prefix(size);
            take_all();
        }
    }

    [[nodiscard]] Reader& reader() { return reader_; }
    [[nodiscard]] const std::string& told() const { return told_; }

protected:
    void take_all() {
        while (!is_over_) {
            switch (reader_.next()) {
                case Found::more: return;
                case Found::head:
                    begin(words_of(reader_.head()));
                    has_body_ = reader_.head().framing != Framing::none;
                    is_in_body_ = true;
                    if (has_body_) told_ += " \"";
                    break;
                case Found::data:
                    CHECK(!reader_.data().empty());
                    told_ += reader_.data();
                    break;
                case Found::whole:
                    if (has_body_) told_ += '"';
                    is_in_body_ = false;
                    is_over_ = !reader_.head().keep_alive || !go_on();
                    break;
                case Found::broken: tell_fault(reader_.fault()); break;
            }
        }
    }

    void begin(std::string_view words) {
        if (!told_.empty()) told_ += " | ";
        told_ += words;
    }

    void tell_fault(Fault fault) {
        CHECK(fault != Fault::none);
        const std::string words = "fault " + std::string(name_of(fault));
        if (is_in_body_)
            told_ += "\" " + words;
        else
            begin(words);
        is_over_ = true;
    }

    /// Begins the next message. Returns false if there is none.
    bool go_on() {
        if constexpr (requires { reader_.begin_next(); }) {
            reader_.begin_next();
            return true;
        }
        return false;
    }

    Reader reader_;
    std::string told_;
    bool has_body_ = false;
    bool is_in_body_ = false;
    bool is_over_ = false;
};

/// All requests of one connection.
struct RequestsRead : Reading<RequestReader> {
    explicit RequestsRead(const Limits& limits = {}) : Reading(RequestReader(limits)) {}

    std::string finish() {
        if (is_over_) return told_;
        if (is_in_body_)
            tell_fault(Fault::truncated);
        else if (reader_.has_input())
            begin("partial");
        return told_;
    }
};

/// One answer, which ends with its connection at the latest.
struct ResponseRead : Reading<ResponseReader> {
    explicit ResponseRead(const Limits& limits = {}, Method asked = Method::get)
        : Reading(ResponseReader(limits)) {
        reader_.begin(asked);
    }

    std::string finish(ResponseReader::End how = ResponseReader::End::clean) {
        if (is_over_) return told_;
        const bool has_head = is_in_body_;
        if (!has_head && !reader_.has_begun()) return told_;
        reader_.input_ended(how);
        if (has_head) {
            take_all();
        } else {
            CHECK(reader_.next() == Found::broken && reader_.fault() == Fault::truncated);
            begin("partial");
        }
        return told_;
    }
};

}  // namespace turnpike::http::test
