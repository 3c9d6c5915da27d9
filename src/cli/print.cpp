#include "cli/print.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace turnpike {

int print(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
        return exit_done;
    return complain(std::string("stdout could not be written: ") + std::strerror(errno));
}

int complain(std::string_view problem, int exit_code) {
    print_to_stderr("turnpike: " + std::string(problem) + '\n');
    return exit_code;
}

void print_to_stderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace turnpike
