// Counts the allocations of the current thread. Only one source file of a program may include this.
//
// Usually this replaces operator new. In a program with a sanitizer it can't, because the sanitizer
// has replaced operator new already; there the sanitizer reports each allocation to us. It reports
// memory that comes from malloc, too.
#pragma once

#include <cstdint>
#include <cstdlib>

inline constinit thread_local std::uint64_t allocations = 0;

#if defined(__has_feature)  // clang, which builds everything that has a sanitizer
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TURNPIKE_HAS_SANITIZER
#endif
#endif

#ifdef TURNPIKE_HAS_SANITIZER

#include <sanitizer/allocator_interface.h>

struct CountedBySanitizer {
    CountedBySanitizer() {
        const int hooks = __sanitizer_install_malloc_and_free_hooks(
            [](const volatile void*, std::size_t) { ++allocations; }, [](const volatile void*) {});
        if (hooks == 0) std::abort();  // nothing would be counted, and every test would pass
    }
};
inline const CountedBySanitizer counted_by_sanitizer;

#else

#include <new>

// Not inlined, because g++ would warn that malloc and delete do not match.
[[gnu::noinline]] void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

#endif
