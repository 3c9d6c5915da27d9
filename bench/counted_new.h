// Counts every allocation of a program. Only one source file of a program may include this.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

inline std::uint64_t allocations = 0;

// Not inlined, because g++ would warn that malloc and delete do not match.
[[gnu::noinline]] void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
