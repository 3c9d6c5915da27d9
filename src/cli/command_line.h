// Words of the command line → a command. Nothing is run, read or printed here.
//
//     auto command = parse_command_line({"status", "--json"});
//     if (!command) print(command.error());  // help, the version, or what is wrong
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/exit_code.h"

namespace turnpike {

/// What there is to say instead of running a command.
struct EarlyExit {
    int exit_code = exit_done;
    std::string out;  // for stdout
    std::string err;  // for stderr
};

/// `words`: without the name of the program.
[[nodiscard]] std::expected<Command, EarlyExit> parse_command_line(std::vector<std::string> words);

}  // namespace turnpike
