// Wake-ups that wait for their turn. Something that must go on later, because another part moved,
// adds itself here; the driver wakes it when no event is left. So nobody is ever called from within
// a call of its own.
//
//   class Answer final : public Sleeper {
//       void append(…) { …; wakeups_.add(*this); }     // at most once, however often it is added
//       void wake() override { reader_->answer_moved(); }
//   };
#pragma once

#include <utility>

#include "base/check.h"
#include "base/list.h"

namespace turnpike {

/// Something that can be woken. Its owner must call Wakeups::remove() before it destroys it.
class Sleeper {
public:
    Sleeper() = default;
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    virtual void wake() = 0;

    // Used by Wakeups only.
    Links<Sleeper> wake_links;
    bool is_due = false;

protected:
    ~Sleeper() { CHECK(!is_due); }
};

class Wakeups {
public:
    void add(Sleeper& sleeper) {
        if (!std::exchange(sleeper.is_due, true)) due_.push_back(sleeper);
    }
    void remove(Sleeper& sleeper) {
        if (std::exchange(sleeper.is_due, false)) due_.remove(sleeper);
    }
    [[nodiscard]] bool empty() const { return due_.empty(); }

    /// Wakes the one that has waited longest. There must be one. It may add itself or others again.
    void wake_first() {
        Sleeper& first = *due_.front();
        remove(first);
        first.wake();
    }

private:
    List<Sleeper, &Sleeper::wake_links> due_;
};

}  // namespace turnpike
