// What a native worker runs, as people write it: "model.py", "model.py:Digits", "./worker". A problem
// is half a sentence that follows the text it is about.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "config/config.h"

namespace turnpike {

/// Its path is as it was written. An empty text is no model.
[[nodiscard]] std::expected<ModelChoice, std::string> parse_model(std::string_view text);

/// A name without a slash is looked up in PATH; everything else is a path.
[[nodiscard]] bool is_looked_up(std::string_view program);

/// Makes the paths of a pool absolute. `folder`: what they are relative to; "": the current one.
void make_absolute(WorkerConfig& worker, const std::string& folder);

/// What is wrong with the file of a model, whose path is absolute; "": nothing.
[[nodiscard]] std::string problem_with_file(const ModelChoice& model);

/// Which Python file was meant by a path at which there is none: "sub/model.py" for "sub/modle.py" and
/// "sub/model"; empty: none is near.
[[nodiscard]] std::string python_file_near(const std::string& path);

}  // namespace turnpike
