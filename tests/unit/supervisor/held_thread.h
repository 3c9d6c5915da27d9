// Blocks a background thread of a test, as a disk that hangs does.
#pragma once

#include <future>

#include "os/background.h"

namespace turnpike {

/// Blocks the thread until the returned promise is set.
[[nodiscard]] inline std::promise<void> hold(Background& thread) {
    std::promise<void> go;
    thread.run(
        [held = go.get_future().share()] {
            held.wait();
            return 0;
        },
        [](int) {});
    return go;
}

}  // namespace turnpike
