#include "gate/model_field.h"

#include <algorithm>
#include <cstddef>

#include <boost/json/basic_parser_impl.hpp>

namespace turnpike {

namespace json = boost::json;

namespace {

constexpr std::size_t name_max = 256;  // a longer name counts as missing
constexpr std::size_t depth_max = 512;
constexpr std::string_view wanted = "model";

/// The callbacks of the parser. Keys and strings come in parts.
struct Events {
    static constexpr std::size_t max_object_size = std::size_t(-1);
    static constexpr std::size_t max_array_size = std::size_t(-1);
    static constexpr std::size_t max_key_size = std::size_t(-1);
    static constexpr std::size_t max_string_size = std::size_t(-1);

    std::uint32_t depth = 0;
    bool is_object = false;
    std::string key;    // the current key of the top level, at most six bytes of it
    std::string value;  // the value of "model"
    bool has_value = false;

    [[nodiscard]] bool is_model() const { return depth == 1 && is_object && key == wanted; }
    bool open() { return ++depth, true; }
    bool close() { return --depth, true; }
    /// Keeps at most `most` bytes, and one more if the text is longer than that.
    static bool keep(std::string& text, json::string_view part, std::size_t most) {
        text.append(part.data(), std::min(part.size(), most + 1 - text.size()));
        return true;
    }
    bool keep_key(json::string_view part) { return depth != 1 || keep(key, part, wanted.size()); }
    bool keep_value(json::string_view part) { return !is_model() || keep(value, part, name_max); }
    bool next() { return key.clear(), true; }

    using Error = json::error_code;
    using View = json::string_view;
    bool on_document_begin(Error&) { return true; }
    bool on_document_end(Error&) { return true; }
    bool on_object_begin(Error&) {
        if (depth == 0) is_object = true;
        return open();
    }
    bool on_object_end(std::size_t, Error&) { return close() && (depth != 1 || next()); }
    bool on_array_begin(Error&) { return open(); }
    bool on_array_end(std::size_t, Error&) { return close() && (depth != 1 || next()); }
    bool on_key_part(View part, std::size_t, Error&) { return keep_key(part); }
    bool on_key(View part, std::size_t, Error&) {
        keep_key(part);
        if (is_model()) value.clear(), has_value = false;  // the last "model" counts
        return true;
    }
    bool on_string_part(View part, std::size_t, Error&) { return keep_value(part); }
    bool on_string(View part, std::size_t, Error&) {
        if (is_model()) has_value = true;
        return keep_value(part) && (depth != 1 || next());
    }
    bool on_number_part(View, Error&) { return true; }
    bool on_int64(std::int64_t, View, Error&) { return depth != 1 || next(); }
    bool on_uint64(std::uint64_t, View, Error&) { return depth != 1 || next(); }
    bool on_double(double, View, Error&) { return depth != 1 || next(); }
    bool on_bool(bool, Error&) { return depth != 1 || next(); }
    bool on_null(Error&) { return depth != 1 || next(); }
    bool on_comment_part(View, Error&) { return true; }
    bool on_comment(View, Error&) { return true; }
};

}  // namespace

struct ModelField::Reader {
    json::basic_parser<Events> parser{json::parse_options{.max_depth = depth_max}};
    json::error_code error;
};

ModelField::ModelField() : reader_(std::make_unique<Reader>()) {}
ModelField::~ModelField() = default;
ModelField::ModelField(ModelField&&) noexcept = default;
ModelField& ModelField::operator=(ModelField&&) noexcept = default;

void ModelField::take(std::string_view bytes) {
    Reader& reader = *reader_;
    if (reader.error) return;
    std::size_t taken = 0;
    if (!reader.parser.done())
        taken = reader.parser.write_some(true, bytes.data(), bytes.size(), reader.error);
    if (reader.error) return;
    const std::string_view rest = bytes.substr(taken);
    if (rest.find_first_not_of(" \t\r\n") != std::string_view::npos)
        reader.error = json::error::extra_data;
}

ModelField::Found ModelField::finish() {
    Reader& reader = *reader_;
    if (!reader.error && !reader.parser.done())
        reader.parser.write_some(false, nullptr, 0, reader.error);
    const Events& events = reader.parser.handler();
    if (reader.error || !events.is_object) return Found::not_json;
    return events.has_value && events.value.size() <= name_max ? Found::name : Found::nothing;
}

const std::string& ModelField::name() const { return reader_->parser.handler().value; }

}  // namespace turnpike
