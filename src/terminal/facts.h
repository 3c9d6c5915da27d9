// Facts of a gate's JSON as text for people. A gate of another version may leave things out or add
// some; what is not there reads "". Some of the text is chosen by clients, so all of it is tamed.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace turnpike {

/// An error is a sentence.
[[nodiscard]] std::expected<boost::json::object, std::string> parse_facts(std::string_view json);

/// Strings without quotes, numbers, yes and no.
[[nodiscard]] std::string text_of(const boost::json::object&, std::string_view key);

[[nodiscard]] bool is_true(const boost::json::object&, std::string_view key);

/// "2026-11-15 10:00:00Z" of "2026-11-15T10:00:00.123Z"
[[nodiscard]] std::string time_text(std::string time);

/// "0.42 s", "3 ms", "4 min 5 s"; of a number of seconds, or of milliseconds if the key ends in _ms.
[[nodiscard]] std::string span_of(const boost::json::object&, std::string_view key);

/// 0 if it is not there.
[[nodiscard]] std::size_t count_of(const boost::json::object& object, std::string_view key);

/// Empty if there is none.
[[nodiscard]] const boost::json::array& list_of(const boost::json::object&, std::string_view key);
[[nodiscard]] const boost::json::object& object_of(const boost::json::object&,
                                                   std::string_view key);
[[nodiscard]] const boost::json::object& object_of(const boost::json::value&);

/// "40 % step 12/30" of {"fraction": 0.4, "text": "step 12/30"}, without what is not there
[[nodiscard]] std::string progress_text(const boost::json::object& progress);

/// "3 ms", "1.2 s", "4 min 5 s", "2 h 5 min", "3 d 4 h"
[[nodiscard]] std::string span_text(double seconds);

}  // namespace turnpike
