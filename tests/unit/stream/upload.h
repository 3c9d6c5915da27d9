// A body on its way in, and what the disk said.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "stream/body.h"
#include "tests/unit/stream/disk.h"

namespace turnpike {

struct Upload : Disk {
    Body body;
    std::optional<int> resumed;  // with the disk's errno

    auto note() {
        return [this](int error) { resumed = error; };
    }
    bool came_back() {
        return loop.run_until([&] { return resumed.has_value(); });
    }
    /// Appends, and waits if it is asked to. The errno of the disk.
    int append(std::string_view bytes) {
        resumed.reset();
        if (body.append(store, bytes, note()) == Body::Taken::all) return 0;
        return came_back() ? *resumed : ETIMEDOUT;
    }
    int complete() {
        resumed.reset();
        if (body.complete(store, note()) == Body::Taken::all) return 0;
        return came_back() ? *resumed : ETIMEDOUT;
    }
    std::string read_back() {
        std::string all;
        while (all.size() < body.size()) {
            const auto piece = std::make_shared<std::string>();
            resumed.reset();
            body.read(store, all.size(), piece, note());
            if (!came_back() || *resumed != 0 || piece->empty()) break;
            EXPECT_LE(piece->size(), store.step);
            all += *piece;
        }
        return all;
    }
};

}  // namespace turnpike
