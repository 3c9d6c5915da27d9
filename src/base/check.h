// CHECK: an assertion that stays on in release builds. A failed CHECK is our own bug: it prints the
// condition and its place, then aborts. Input must never reach one: untrusted bytes and late events
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
