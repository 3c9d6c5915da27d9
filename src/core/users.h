// The clients that use a pool: jobs of theirs wait or run, or did so within the last minute. One of
// them has to be protected from another only if there are several.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "core/rounds.h"
#include "core/settings.h"

namespace turnpike {

class Users {
public:
    /// Must be called when the first job of the line is queued.
    void came() { ++here_; }
    /// Must be called when the last job of the line has ended.
    void left(const Line& line, Instant now) {
        --here_;
        if (gone_[0].line != &line) std::swap(gone_[0], gone_[1]);
        gone_[0] = {.line = &line, .at = now};
    }

    [[nodiscard]] bool are_several(Instant now) const {
        std::uint64_t users = here_;
        for (const Gone& gone : gone_)
            if (gone.line != nullptr && gone.line->live == 0 && now - gone.at < users_keep) ++users;
        return users > 1;
    }

private:
    struct Gone {
        const Line* line = nullptr;
        Instant at;
    };

    std::uint64_t here_ = 0;
    std::array<Gone, 2> gone_;  // the two that left last; who is back, is here
};

}  // namespace turnpike
