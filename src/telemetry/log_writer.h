// Writing text to a target without ever waiting for it: a file that rotates, or a descriptor of
// somebody else.
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

/// How much of a text the target took, and why not all of it.
struct LogWritten {
    std::size_t bytes = 0;
    int error = 0;  // an errno; 0: it took everything, EAGAIN: it may take more later
};

/// The file of a LogFile, opened to append.
class RotatingFile {
public:
    static std::expected<RotatingFile, std::string> open(LogFile where);
    ~RotatingFile();
    RotatingFile(RotatingFile&& other) noexcept;
    RotatingFile& operator=(RotatingFile&&) = delete;

    /// `text` is whole lines, save that the first may be the rest of one that was begun.
    LogWritten write(std::string_view text);

    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] const std::string& name() const { return where_.path; }

    /// Why the last rotation failed; the file then grows on. Empty: it did not.
    [[nodiscard]] const std::string& rotation_problem() const { return rotation_problem_; }

private:
    RotatingFile(LogFile where, int fd) : where_(std::move(where)), fd_(fd) {}

    [[nodiscard]] std::size_t fitting(std::string_view text) const;
    void rotate();

    LogFile where_;
    int fd_;
    std::uint64_t size_ = 0;
    bool can_rotate_ = false;  // a regular file
    std::string rotation_problem_;
};

/// A LogDescriptor. It may block and its flags are not ours, so it is asked before each write.
class BorrowedDescriptor {
public:
    explicit BorrowedDescriptor(LogDescriptor where) : where_(std::move(where)) {}

    LogWritten write(std::string_view text);

    [[nodiscard]] int fd() const { return where_.fd; }
    [[nodiscard]] const std::string& name() const { return where_.name; }

    /// There is nothing to rotate.
    [[nodiscard]] std::string rotation_problem() const { return {}; }

private:
    LogDescriptor where_;
};

using LogWriter = std::variant<RotatingFile, BorrowedDescriptor>;

}  // namespace turnpike
