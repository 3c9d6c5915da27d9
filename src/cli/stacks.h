// `turnpike stacks`: what the lane's log says since a dump was asked for.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike {

struct StackLines {
    std::size_t newest = 0;          // the number of the log's latest line
    std::vector<std::string> lines;  // of the stream "stacks"
};

/// Of what GET /-/lanes/N/log answered.
[[nodiscard]] std::expected<StackLines, std::string> stack_lines(std::string_view json);

}  // namespace turnpike
