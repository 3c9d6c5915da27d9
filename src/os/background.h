// One named helper thread for slow work: disk, digests, comparing proofs. The work runs on that
// thread, in order; the callback that gets its result runs on the loop.
//
//   background.run([file, bytes] { return write(file, bytes); }, [this](bool ok) { … });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace boost::asio {
class io_context;
}

namespace turnpike {

class Background {
public:
    using Work = std::move_only_function<void()>;

    /// `name` is the thread's name as the kernel shows it: at most 15 characters.
    Background(boost::asio::io_context& loop, const char* name);
    /// Finishes the work that was submitted, but does not call its callbacks any more.
    ~Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    /// Runs `work` on the thread, then calls `then` on the loop with its result. Neither may throw.
    template <class Slow, class Then>
    void run(Slow work, Then then) {
        submit([this, work = std::move(work), then = std::move(then)]() mutable {
            come_back(
                [then = std::move(then), result = work()]() mutable { then(std::move(result)); });
        });
    }

    /// True if some work has not delivered its result yet. Must be called on the loop.
    [[nodiscard]] bool is_busy() const { return under_way_ > 0; }

private:
    void submit(Work work);
    void come_back(Work then);

    struct Thread;
    std::unique_ptr<Thread> thread_;
    std::uint64_t under_way_ = 0;  // used on the loop only
};

}  // namespace turnpike
