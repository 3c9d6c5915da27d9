// Bodies in sealed memfds: makes those for the gate, and checks and reads those from the gate.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace turnpike::inside {

/// Owns a file descriptor, and closes it.
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

/// Returns a memfd with these bytes and all seals. Throws std::system_error.
Descriptor sealed_memfd(std::string_view bytes);

/// True if the descriptor is a memfd with all seals and this length.
[[nodiscard]] bool is_sealed(int descriptor, std::uint64_t length);

/// Returns the whole content, from offset 0. Throws std::system_error.
std::string contents_of(int descriptor, std::uint64_t length);

}  // namespace turnpike::inside
