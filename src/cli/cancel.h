// `turnpike cancel`: asks the gate to cancel a job, and puts its answer into words.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace turnpike {

/// True if the word has only letters, digits, "_" and "-", so that a URL may contain it.
[[nodiscard]] bool could_be_job_id(std::string_view word);

/// Returns a sentence about what DELETE /-/jobs/JOB answered. It is not an error if the job has
/// ended already.
[[nodiscard]] std::expected<std::string, std::string> cancel_text(std::string_view job,
                                                                  std::string_view json);

}  // namespace turnpike
