// Reads the head of an attempt's answer, for both HTTP and native workers.
#pragma once

#include <string_view>

#include "core/words.h"
#include "http/message.h"
#include "stream/answer.h"

namespace turnpike {

/// Returns the verdict for a complete answer with this status.
[[nodiscard]] Verdict verdict_of(int status);

/// Copies the field to `head`, unless its name is one of Turnpike's own, and notes what it means
/// for the answer.
void take_field(const http::Field& field, AnswerHead& head);

/// Calls take_field() for each of these header lines, which must be valid. Skips hop-by-hop fields.
void take_fields(std::string_view lines, AnswerHead& head);

/// Returns the value of a field in "Name: value\r\n…". Empty if the field is missing.
[[nodiscard]] std::string_view field_in(std::string_view lines, std::string_view name);

}  // namespace turnpike
