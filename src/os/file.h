// A file descriptor with one owner; reading and writing whole files.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
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

    /// Gives the descriptor to the caller, who must close it.
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    void reset() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }
    void swap(UniqueFd& other) noexcept { std::swap(fd_, other.fd_); }

private:
    int fd_ = -1;
};

/// Closes the file on a thread of its own. Use it for files that may take long to close: a large
/// memfd gives back all its pages, and a socket that another program shares may linger.
void close_in_background(UniqueFd file);

inline constexpr std::size_t no_size_limit = std::numeric_limits<std::size_t>::max();

/// Reads to the end of the file, but at most `max` bytes. Returns nullopt and sets errno on
/// failure.
[[nodiscard]] std::optional<std::string> read_all(int file, std::size_t max = no_size_limit);
/// Opens the file and calls read_all().
[[nodiscard]] std::optional<std::string> read_file(const std::string& path,
                                                   std::size_t max = no_size_limit);

/// Returns false and sets errno if not everything could be written.
[[nodiscard]] bool write_all(int file, std::string_view text);

}  // namespace turnpike
