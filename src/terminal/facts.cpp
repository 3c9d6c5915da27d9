#include "terminal/facts.h"
#include "terminal/safe_text.h"

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/span_text.h"

namespace turnpike {
namespace {

namespace json = boost::json;

const json::value* find(const json::object& object, std::string_view key) {
    return object.if_contains(json::string_view(key.data(), key.size()));
}

double number_of(const json::value& value) {
    json::error_code error;
    const double number = value.to_number<double>(error);
    return error ? 0 : number;
}

}  // namespace

std::expected<json::object, std::string> parse_facts(std::string_view text) {
    json::error_code error;
    json::value value = json::parse(json::string_view(text.data(), text.size()), error);
    if (error || !value.is_object())
        return std::unexpected(
            "the gate's answer is not a JSON object; the gate may be of another version");
    return std::move(value.as_object());
}

std::string text_of(const json::object& object, std::string_view key) {
    const json::value* value = find(object, key);
    if (value == nullptr || value->is_null()) return "";
    if (const json::string* text = value->if_string())
        return sanitized({text->data(), text->size()});
    if (const bool* yes = value->if_bool()) return *yes ? "yes" : "no";
    if (const double* number = value->if_double()) return fmt::format("{}", *number);
    return sanitized(json::serialize(*value));
}

std::string raw_text(const json::object& object, std::string_view key) {
    const json::value* value = find(object, key);
    const json::string* text = value == nullptr ? nullptr : value->if_string();
    return text == nullptr ? "" : std::string(text->data(), text->size());
}

bool is_true(const json::object& object, std::string_view key) {
    const json::value* value = find(object, key);
    return value != nullptr && value->is_bool() && value->get_bool();
}

std::string time_text(std::string time) {
    constexpr std::size_t seconds_end = 19;
    if (time.size() <= seconds_end) return time;
    time[10] = ' ';
    return time.substr(0, seconds_end) + 'Z';
}

std::string span_of(const json::object& object, std::string_view key) {
    const json::value* value = find(object, key);
    if (value == nullptr || !value->is_number()) return "";
    return span_text(number_of(*value) / (key.ends_with("_ms") ? 1e3 : 1));
}

std::size_t count_of(const json::object& object, std::string_view key) {
    const json::value* value = find(object, key);
    if (value == nullptr || !value->is_number() || number_of(*value) < 0) return 0;
    return static_cast<std::size_t>(number_of(*value));
}

std::string progress_text(const json::object& progress) {
    const json::value* fraction = find(progress, "fraction");
    std::string text = text_of(progress, "text");
    if (fraction == nullptr || !fraction->is_number()) return text;
    return fmt::format("{:.0f} %{}{}", 100 * number_of(*fraction), text.empty() ? "" : " ", text);
}

const json::array& list_of(const json::object& object, std::string_view key) {
    static const json::array none;
    const json::value* value = find(object, key);
    return value != nullptr && value->is_array() ? value->get_array() : none;
}

const json::object& object_of(const json::object& object, std::string_view key) {
    static const json::value none;
    const json::value* value = find(object, key);
    return object_of(value != nullptr ? *value : none);
}

const json::object& object_of(const json::value& value) {
    static const json::object none;
    return value.is_object() ? value.get_object() : none;
}

}  // namespace turnpike
