// Reads facts from a gate's JSON as text for people. A gate of another version may leave members
// out or add some; a missing member reads as "". Clients choose some of the text, so all of it is
// sanitized, except by raw_text().
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace turnpike {

/// Returns the JSON object, or an error message if the text is not one.
[[nodiscard]] std::expected<boost::json::object, std::string> parse_facts(std::string_view json);

/// Returns a string without quotes, a number, "yes" or "no". Empty if the member is missing.
[[nodiscard]] std::string text_of(const boost::json::object&, std::string_view key);

/// Returns a string unchanged, so it may hold anything that a client or worker wrote. Empty if the
/// member is not a string.
[[nodiscard]] std::string raw_text(const boost::json::object&, std::string_view key);

[[nodiscard]] bool is_true(const boost::json::object&, std::string_view key);

/// Returns "2026-11-15 10:00:00Z" for "2026-11-15T10:00:00.123Z".
[[nodiscard]] std::string time_text(std::string time);

/// Returns span_text() of the member, which counts milliseconds if the key ends in _ms, and seconds
/// otherwise.
[[nodiscard]] std::string span_of(const boost::json::object&, std::string_view key);

/// Returns a number, or 0 if the member is missing.
[[nodiscard]] std::size_t count_of(const boost::json::object& object, std::string_view key);

/// Return an empty list or object if the member is missing.
[[nodiscard]] const boost::json::array& list_of(const boost::json::object&, std::string_view key);
[[nodiscard]] const boost::json::object& object_of(const boost::json::object&,
                                                   std::string_view key);
[[nodiscard]] const boost::json::object& object_of(const boost::json::value&);

/// Returns "40 % step 12/30" for {"fraction": 0.4, "text": "step 12/30"}. Either member may be
/// missing.
[[nodiscard]] std::string progress_text(const boost::json::object& progress);

}  // namespace turnpike
