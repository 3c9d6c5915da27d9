// A body that is being uploaded, and the results of the disk.
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
    std::optional<int> resumed;  // the errno of the disk, once it has called back

    auto record_result() {
        return [this](int error) { resumed = error; };
    }
    bool has_resumed() {
        return loop.run_until([&] { return resumed.has_value(); });
    }
    /// Appends bytes, and waits if it must. Returns the errno of the disk.
    int append(std::string_view bytes) {
        resumed.reset();
        if (body.append(store, bytes, record_result()) == Body::Taken::all) return 0;
        return has_resumed() ? *resumed : ETIMEDOUT;
    }
    int complete() {
        resumed.reset();
        if (body.complete(store, record_result()) == Body::Taken::all) return 0;
        return has_resumed() ? *resumed : ETIMEDOUT;
    }
    std::string read_back() {
        std::string all;
        while (all.size() < body.size()) {
            const auto piece = std::make_shared<std::string>();
            resumed.reset();
            body.read(store, all.size(), piece, record_result());
            if (!has_resumed() || *resumed != 0 || piece->empty()) break;
            EXPECT_LE(piece->size(), store.step);
            all += *piece;
        }
        return all;
    }
};

}  // namespace turnpike
