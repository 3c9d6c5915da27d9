// What an attempt's answer head tells, whatever the worker speaks.
#pragma once

#include <string_view>

#include "core/words.h"
#include "http/message.h"
#include "stream/answer.h"

namespace turnpike {

/// By the status of a whole answer.
[[nodiscard]] Verdict verdict_of(int status);

/// Passes a field on, unless it is one of Turnpike's own, and notes what it means for the answer.
void take_field(const http::Field& field, AnswerHead& head);

/// The same for header lines that were checked.
void take_fields(std::string_view lines, AnswerHead& head);

/// The value of a field in "Name: value\r\n…"; empty: there is none.
[[nodiscard]] std::string_view field_in(std::string_view lines, std::string_view name);

}  // namespace turnpike
