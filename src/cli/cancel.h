// `turnpike cancel`: what the gate's answer means.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace turnpike {

/// Letters, digits, "_" and "-": what may be put into a URL without a thought.
[[nodiscard]] bool could_be_job_id(std::string_view word);

/// A sentence about what DELETE /-/jobs/JOB answered. A job that has ended needs no cancelling, which
/// is no error.
[[nodiscard]] std::expected<std::string, std::string> cancel_text(std::string_view job,
                                                                  std::string_view json);

}  // namespace turnpike
