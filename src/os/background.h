// One named helper thread for what may be slow: disk, digests, comparing proofs. Work runs there, in
// order; what follows runs on the loop.
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

    /// `name`: at most 15 characters, as the kernel shows them.
    Background(boost::asio::io_context& loop, const char* name);
    /// Finishes the work it has; what would follow is dropped.
    ~Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    /// `then` gets what `work` returns. Neither may throw.
    template <class Slow, class Then>
    void run(Slow work, Then then) {
        submit([this, work = std::move(work), then = std::move(then)]() mutable {
            come_back(
                [then = std::move(then), result = work()]() mutable { then(std::move(result)); });
        });
    }

    /// Some work has not come back. Asked on the loop.
    [[nodiscard]] bool is_busy() const { return under_way_ > 0; }

private:
    void submit(Work work);
    void come_back(Work then);

    struct Thread;
    std::unique_ptr<Thread> thread_;
    std::uint64_t under_way_ = 0;  // of the loop
};

}  // namespace turnpike
