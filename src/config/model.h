// Parses and checks what a native worker runs: "model.py", "model.py:Digits", "./worker". An error
// message is the second half of a sentence: it follows the text that it is about.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "config/config.h"

namespace turnpike {

/// Leaves the path as it was written. An empty text gives Kind::none.
[[nodiscard]] std::expected<ModelChoice, std::string> parse_model(std::string_view text);

/// True if the program is a name without a slash, which is looked up in PATH. Others are paths.
[[nodiscard]] bool is_looked_up(std::string_view program);

/// Makes the paths of a pool absolute. They are relative to `folder`; "" is the current folder.
void make_absolute(WorkerConfig& worker, const std::string& folder);

/// Returns what is wrong with a model's file, or "" if nothing is. The model's path must be
/// absolute.
[[nodiscard]] std::string problem_with_file(const ModelChoice& model);

/// Returns the existing Python file that was probably meant by a wrong path: "sub/model.py" for
/// "sub/modle.py" and "sub/model". Returns "" if no file has a similar name.
[[nodiscard]] std::string python_file_near(const std::string& path);

}  // namespace turnpike
