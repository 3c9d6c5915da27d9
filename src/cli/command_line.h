// Parses the words of the command line into a command. Nothing is run, read or printed here.
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

/// What to print instead of running a command: help, the version, or a mistake in the command line.
struct EarlyExit {
    int exit_code = exit_done;
    std::string out;  // for stdout
    std::string err;  // for stderr
};

/// `words` does not contain the name of the program.
[[nodiscard]] std::expected<Command, EarlyExit> parse_command_line(std::vector<std::string> words);

}  // namespace turnpike
