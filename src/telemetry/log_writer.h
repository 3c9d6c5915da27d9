// Writes text to a target without ever waiting for it: a file that rotates, or a descriptor that is
// not ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "telemetry/log_target.h"

namespace turnpike {

/// How much of a text the target took, and why it did not take the rest.
struct LogWritten {
    std::size_t bytes = 0;
    int error = 0;  // an errno: 0 if it took everything, EAGAIN if it may take more later
};

/// The file of a LogFile, opened to append.
class RotatingFile {
public:
    static std::expected<RotatingFile, std::string> open(LogFile where);
    ~RotatingFile();
    RotatingFile(RotatingFile&& other) noexcept;
    RotatingFile& operator=(RotatingFile&&) = delete;

    /// `text` must be whole lines, but the first may be the rest of a line that was partly written.
    LogWritten write(std::string_view text);

    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] const std::string& name() const { return where_.path; }

    /// Returns why the last rotation failed. The file then keeps growing. Empty if it did not fail.
    [[nodiscard]] const std::string& rotation_problem() const { return rotation_problem_; }

private:
    RotatingFile(LogFile where, int fd) : where_(std::move(where)), fd_(fd) {}

    [[nodiscard]] std::size_t fitting(std::string_view text) const;
    void rotate();

    LogFile where_;
    int fd_;
    std::uint64_t size_ = 0;
    bool can_rotate_ = false;  // true for a regular file
    std::string rotation_problem_;
};

/// Writes to a LogDescriptor. The descriptor may block, and we must not change its flags, so we
/// poll it before each write.
class BorrowedDescriptor {
public:
    explicit BorrowedDescriptor(LogDescriptor where) : where_(std::move(where)) {}

    LogWritten write(std::string_view text);

    [[nodiscard]] int fd() const { return where_.fd; }
    [[nodiscard]] const std::string& name() const { return where_.name; }

    /// Always empty: a descriptor does not rotate.
    [[nodiscard]] std::string rotation_problem() const { return {}; }

private:
    LogDescriptor where_;
};

using LogWriter = std::variant<RotatingFile, BorrowedDescriptor>;

}  // namespace turnpike
