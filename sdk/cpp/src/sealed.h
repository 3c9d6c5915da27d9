// Bodies in sealed memfds: made for the gate, and checked and read when they come from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace turnpike::inside {

/// Closes what it holds.
class Descriptor {
public:
    explicit Descriptor(int number = -1) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept;
    ~Descriptor();
    [[nodiscard]] int number() const { return number_; }
    [[nodiscard]] bool is_open() const { return number_ >= 0; }
    int release();

private:
    int number_;
};

/// A memfd with these bytes and all seals. Throws std::system_error.
Descriptor sealed_memfd(std::string_view bytes);

/// Whether it is a memfd with all seals, of that length.
[[nodiscard]] bool is_sealed(int descriptor, std::uint64_t length);

/// All of it, from its beginning. Throws std::system_error.
std::string contents_of(int descriptor, std::uint64_t length);

}  // namespace turnpike::inside
