// Lets a callback that comes later find out whether its owner still lives.
//
// An owner that gives a callback to something that may outlive it, such as a background thread,
// binds the callback to its lifeline. Once the owner is destroyed, the callback does nothing.
//
//   class Watch {
//       void look() { disk_.run(work, lifeline_.bind([this](int result) { seen(result); })); }
//       Lifeline lifeline_;  // declared last, so that it ends first
//   };
#pragma once

#include <memory>
#include <utility>

namespace turnpike {

class Lifeline {
public:
    Lifeline() = default;
    Lifeline(const Lifeline&) = delete;
    Lifeline& operator=(const Lifeline&) = delete;

    /// Returns a function that calls `then` if the owner of this lifeline still lives, and otherwise
    /// does nothing.
    template <class Then>
    [[nodiscard]] auto bind(Then then) const {
        return [weak = std::weak_ptr(lives_),
                then = std::move(then)]<class... News>(News&&... news) mutable {
            if (!weak.expired()) then(std::forward<News>(news)...);
        };
    }

private:
    std::shared_ptr<int> lives_ = std::make_shared<int>();
};

}  // namespace turnpike
