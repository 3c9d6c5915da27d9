// `turnpike stacks`: asks for a dump of a worker's stacks, and shows what then appears in the
// lane's log.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike {

struct StackLines {
    std::size_t newest = 0;          // the number of the log's latest line
    std::vector<std::string> lines;  // only those of the stream "stacks"
};

/// Reads what GET /-/lanes/N/log answered.
[[nodiscard]] std::expected<StackLines, std::string> stack_lines(std::string_view json);

}  // namespace turnpike
