// Work that this process must not do itself: what may hang or crash, or would stay with it for good.
#pragma once

#include <expected>
#include <functional>
#include <string>

#include "base/time.h"

namespace turnpike {

/// What `work` returns, done by a forked child that is gone afterwards. An error says how it ended
/// instead: "it crashed (signal 11)". To be called before this process has other threads.
[[nodiscard]] std::expected<std::string, std::string> in_child(
    const std::function<std::string()>& work, Duration limit);

}  // namespace turnpike
