// Counts every allocation of the program that includes this, once.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

inline std::uint64_t allocations = 0;

// Out of line: inlined, g++ takes malloc and delete for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
