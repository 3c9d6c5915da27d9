// The body of a request. Up to memory_max bytes are kept in memory, a larger body in a spool file.
// It is complete before its job is queued, so that it can be sent again and a slow upload holds no
// lane.
//
//   arriving ──append──▶ in memory ──too large──▶ spooled      then read() or seal(), as often as
//                                                              needed
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "stream/spool.h"

namespace turnpike {

class Body {
public:
    /// Called with 0, or with an errno if the disk failed.
    using Done = std::move_only_function<void(int)>;

    enum class Taken : std::uint8_t {
        all,   // more may be appended
        wait,  // a write is under way: append more only after `resume` was called
    };

    /// Appends bytes. Calls `resume` only if it returns `wait`: later, on the loop, even if the
    /// body is dropped meanwhile.
    Taken append(const Store& store, std::string_view bytes, Done resume);

    /// Ends the body and writes the rest of it. The body is ready now if it returns Taken::all,
    /// otherwise when `resume` is called.
    Taken complete(const Store& store, Done resume);

    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] bool is_in_memory() const { return file_ == nullptr; }
    /// Returns all bytes. Must be called only for a body in memory.
    [[nodiscard]] std::string_view bytes() const { return memory_; }

    /// Reads a piece of a body on disk, at most store.step bytes, into `into`. `into` is shared
    /// because the read goes on even if nobody waits for it any more.
    void read(const Store& store, std::uint64_t offset, std::shared_ptr<std::string> into,
              Done then) const;

    /// Passes a sealed memfd with the whole body to `then`, for a native worker. If the body was
    /// spooled to a memfd, `then` gets that file; otherwise a copy, which the disk thread makes
    /// once. If there is no memory, `then` gets -1 and an errno, and seal() may be called again.
    /// The body must be complete. `then` runs at once or later, even if the body is dropped
    /// meanwhile. The file is open until the body is dropped, but at least while `then` runs. To
    /// keep it longer, duplicate the descriptor.
    using Sealed = std::move_only_function<void(int file, int error)>;
    void seal(const Store& store, Sealed then);

    /// Returns what keeps the sealed file open. Must be called only after seal() has passed the file.
    [[nodiscard]] std::shared_ptr<const void> sealed_file() const;

    /// Returns a function that returns the first `max` bytes of a body on disk, or an empty text if
    /// the disk fails. The function works even after the body is dropped. It blocks, so it must be
    /// called on the disk thread.
    [[nodiscard]] std::function<std::string()> reader(std::size_t max) const;

    /// Returns a function that passes all bytes to `take` in pieces of at most `step` bytes, and
    /// returns 0, or an errno if the disk fails. The body must be complete. The function works even
    /// after the body is dropped. It blocks, so it must be called on the disk thread.
    using TakePiece = std::function<void(std::string_view)>;
    [[nodiscard]] std::function<int(const TakePiece&)> piece_reader(std::size_t step) const;

    /// Empties the body for the next job. Keeps a little memory.
    void clear();

private:
    struct Seal;

    void flush(const Store& store, Done resume);

    std::string memory_;
    std::uint64_t size_ = 0;
    std::uint64_t written_ = 0;  // how many of the bytes are on disk
    std::shared_ptr<SpoolFile> file_;
    std::shared_ptr<Seal> seal_;  // nullptr until seal() is called
};

}  // namespace turnpike
