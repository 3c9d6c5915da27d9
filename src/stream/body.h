// The body of a request on its way in: up to memory_max bytes in memory, more in a spool file. It is
// complete before its job is queued, so that it can be sent again and a slow upload holds no lane.
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
    /// 0, or the errno of the disk.
    using Done = std::move_only_function<void(int)>;

    enum class Taken : std::uint8_t {
        all,   // come with more
        wait,  // a write is under way: come with more after `resume`
    };

    /// Takes bytes. `resume` is kept only with `wait`, and runs on the loop, also if the body is
    /// dropped meanwhile.
    Taken append(const Store& store, std::string_view bytes, Done resume);

    /// Nothing follows: writes what is left. Taken::all: the body is ready, nothing to wait for.
    Taken complete(const Store& store, Done resume);

    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] bool is_in_memory() const { return file_ == nullptr; }
    /// Of a body in memory.
    [[nodiscard]] std::string_view bytes() const { return memory_; }

    /// Reads the next piece of a body on disk into `into` (at most store.step bytes). `into` must
    /// outlive it, whoever waits for it.
    void read(const Store& store, std::uint64_t offset, std::shared_ptr<std::string> into,
              Done then) const;

    /// A sealed memfd with all of it, for a native worker: the very file where the body was spooled
    /// to memory, else a copy (made on the helper thread, once). -1 and an errno: there is no memory;
    /// it may be asked for again. The body must be complete, and keeps the file; who wants it longer
    /// than the body lives (or than `then` runs) duplicates it. `then` runs at once or later, also if
    /// the body is dropped meanwhile.
    using Sealed = std::move_only_function<void(int file, int error)>;
    void seal(const Store& store, Sealed then);

    /// Gives the first `max` bytes of a body on disk, also after the body is dropped; fewer if the
    /// disk fails. Blocking: for the helper thread only.
    [[nodiscard]] std::function<std::string()> reader(std::size_t max) const;

    /// Empty again. Keeps a little memory for the next.
    void clear();

private:
    struct Seal;

    void flush(const Store& store, Done resume);

    std::string memory_;
    std::uint64_t size_ = 0;
    std::uint64_t written_ = 0;  // of size_, on disk
    std::shared_ptr<SpoolFile> file_;
    std::shared_ptr<Seal> seal_;  // none: nobody asked for it
};

}  // namespace turnpike
