// CHECK: the program's own promises, kept on in release builds. A failed CHECK is a bug of ours: it
// prints where and what, then aborts. Never reachable from input; untrusted bytes and late events
// are handled, not checked.
#pragma once

namespace turnpike {

[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace turnpike

#define CHECK(condition)                                              \
    do {                                                              \
        if (!(condition)) [[unlikely]]                                \
            ::turnpike::check_failed(#condition, __FILE__, __LINE__); \
    } while (false)
