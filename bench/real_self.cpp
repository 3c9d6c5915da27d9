// Preloaded into a gate that runs under valgrind (bench/instructions.py). There /proc/self/exe is
// valgrind itself, so the gate could not start its guards, which are the same program as the gate.
// Starts TURNPIKE_REAL_SELF instead.
#include <dlfcn.h>
#include <spawn.h>

#include <cstdlib>
#include <string_view>

extern "C" int posix_spawnp(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes, char* const arguments[],
                            char* const environment[]) {
    const auto real = reinterpret_cast<decltype(&posix_spawnp)>(::dlsym(RTLD_NEXT, "posix_spawnp"));
    const char* const self = std::getenv("TURNPIKE_REAL_SELF");
    if (self != nullptr && std::string_view(path) == "/proc/self/exe") path = self;
    return real(pid, path, actions, attributes, arguments, environment);
}
