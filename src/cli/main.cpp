#include <cstdlib>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

#include <boost/system/system_error.hpp>

#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/print.h"
#include "os/guard.h"
#include "os/shortage.h"
#include "setup/gpu_survey.h"

namespace turnpike {
namespace {

/// Tells what the system refused, such as a socket or a thread: libraries throw then.
int complain_of(int error, const std::exception& thrown) {
    const Shortage shortage = shortage_behind(error);
    return complain(shortage == Shortage::none ? std::string(thrown.what()) : text_of(shortage));
}

/// Returns the exit code. Ends the process itself if nothing may run after main.
int run_command(const Command& command) {
    int code = exit_failed;
    try {
        code = std::visit([](const auto& chosen) { return run(chosen); }, command);
    } catch (const std::system_error& error) {
        code = complain_of(error.code().value(), error);
    } catch (const boost::system::system_error& error) {
        code = complain_of(error.code().value(), error);
    } catch (const std::bad_alloc&) {
        code = complain(text_of(Shortage::memory));
    }
    if (left_thread_in_driver()) std::_Exit(code);
    return code;
}

}  // namespace
}  // namespace turnpike

int main(int argc, char** argv) {
    using namespace turnpike;
    const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
    // The gate waits for the guard to end. _Exit skips what usually runs after main, because
    // LeakSanitizer would hang there.
    if (argc > 1 && std::string_view(argv[1]) == guard_word) std::_Exit(run_guard(arguments));
    const auto command = parse_command_line(std::vector<std::string>(argv + 1, argv + argc));
    if (command) return run_command(*command);
    print_to_stderr(command.error().err);
    const int printed = print(command.error().out);
    return printed == exit_done ? command.error().exit_code : printed;
}
