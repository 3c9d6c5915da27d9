// A file descriptor with one owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace turnpike {

class UniqueFd {
public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        UniqueFd(std::move(other)).swap(*this);
        return *this;
    }
    ~UniqueFd() { reset(); }

    [[nodiscard]] int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

    /// The caller closes it from now on.
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    void reset() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }
    void swap(UniqueFd& other) noexcept { std::swap(fd_, other.fd_); }

private:
    int fd_ = -1;
};

/// Where closing may take long: a large memfd gives all its pages back, a socket of somebody else's
/// lingers. On a thread of its own.
void close_in_background(UniqueFd file);

}  // namespace turnpike
