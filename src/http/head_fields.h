// Collects the fields of a head, and reads from them what requests and responses have in common:
// the framing and Connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "http/fault.h"
#include "http/head_lines.h"
#include "http/message.h"

namespace turnpike::http {

class HeadFields {
public:
    struct Entry {
        Place name;
        Place value;
    };

    void begin(Version version) { facts_.version = version; }

    /// Adds one line without its CRLF. `line` must be a part of `bytes`.
    Fault add(std::string_view line, std::string_view bytes);

    [[nodiscard]] const Entry& last() const { return entries_.back(); }
    [[nodiscard]] std::size_t count() const { return entries_.size(); }

    /// Returns the fields as views into `bytes`, valid until the next call or reset().
    Fields resolve(std::string_view bytes);

    [[nodiscard]] bool has_length() const { return facts_.has_length; }
    [[nodiscard]] std::uint64_t length() const { return facts_.length; }
    [[nodiscard]] bool is_chunked() const { return facts_.is_chunked; }
    [[nodiscard]] bool keeps_alive() const;

    /// Removes all fields. Keeps memory only for a head of usual size.
    void reset();

private:
    Fault look_at(std::string_view name, std::string_view value);
    Fault take_length(std::string_view value);
    Fault take_coding(std::string_view value);
    Fault take_connection(std::string_view value);

    struct Facts {
        std::uint64_t length = 0;
        Version version = Version::http_1_1;
        std::uint8_t options = 0;  // how many options all Connection fields together have
        bool has_length = false;
        bool is_chunked = false;
        bool says_close = false;
        bool says_keep_alive = false;
    };

    std::vector<Entry> entries_;
    std::vector<Field> fields_;
    Facts facts_;
};

}  // namespace turnpike::http
