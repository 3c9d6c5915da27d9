// An intrusive list: an object carries its own links, so adding and removing it needs no allocation
// and no search. With one Links member an object can be in one list at a time.
//
//   struct Job { Links<Job> links; };
//   List<Job, &Job::links> waiting;
#pragma once

#include <cstddef>

#include "base/check.h"

namespace turnpike {

template <class Thing>
struct Links {
    Thing* before = nullptr;
    Thing* after = nullptr;
};

template <class Thing, Links<Thing> Thing::* Member>
class List {
public:
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] Thing* front() const { return front_; }
    [[nodiscard]] static Thing* after(const Thing& thing) { return (thing.*Member).after; }

    void push_back(Thing& thing) {
        (thing.*Member) = {.before = back_, .after = nullptr};
        (back_ != nullptr ? (back_->*Member).after : front_) = &thing;
        back_ = &thing;
        ++size_;
    }

    void remove(Thing& thing) {
        CHECK(size_ > 0);
        auto& [before, after] = thing.*Member;
        (before != nullptr ? (before->*Member).after : front_) = after;
        (after != nullptr ? (after->*Member).before : back_) = before;
        before = after = nullptr;
        --size_;
    }

private:
    Thing* front_ = nullptr;
    Thing* back_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace turnpike
