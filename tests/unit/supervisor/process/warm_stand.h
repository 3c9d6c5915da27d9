// A warm process with a real Python and a script of the test.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/process/warm.h"
#include "tests/unit/loop.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {

/// Runs before each script, and writes a line per process to `built`.
inline constexpr std::string_view script_begin = R"(
import json, os, socket, sys
gate = socket.socket(fileno=3)
folder = os.path.dirname(sys.argv[0])
def say(text): gate.send(text.encode())
def wait(): gate.recv(1 << 24)
with open(folder + "/built", "a") as file: file.write(" ".join(sys.argv[1:]) + "\n")
)";
inline constexpr std::string_view says_ready =
    "say('{\"ready\": 12}')\nwhile gate.recv(1 << 24): pass";

class WarmStand : public testing::Test {
protected:
    ~WarmStand() override {
        warm_.reset();
        EXPECT_TRUE(loop_.run_until([] { return own_children().empty(); }));
        ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    }

    /// Sets what warm processes do from now on.
    void script(std::string_view text) const {
        folder_.write("warm.py", std::string(script_begin) + std::string(text) + "\n");
    }
    /// Sets what workers have imported.
    void imported(std::string_view names) const { folder_.write("imports", names); }
    WarmProcess& warm(WarmSpec spec = {}) {
        if (warm_ != nullptr) return *warm_;
        if (spec.python.empty()) spec.python = "/usr/bin/python3";
        spec.script = folder_.file("warm.py");
        spec.imports = folder_.file("imports");
        spec.build_delay_min = 1ms;
        warm_ = std::make_shared<WarmProcess>(loop_.context(), children_, output_, std::move(spec));
        return *warm_;
    }
    /// Makes the warm process learn, and waits until it is ready.
    WarmProcess& ready() {
        imported("json");
        warm().learn();
        EXPECT_TRUE(run_until_ready());
        return warm();
    }
    [[nodiscard]] bool run_until_ready() {
        return loop_.run_until([this] { return warm().is_ready(); });
    }
    [[nodiscard]] bool run_until_trouble(std::string_view text) {
        return loop_.run_until([&] { return trouble().contains(text); });
    }
    /// Returns what is wrong with the warm process; empty if nothing is.
    [[nodiscard]] std::string trouble() {
        return warm().trouble() ? sentence_of(*warm().trouble(), "it") : "";
    }
    [[nodiscard]] bool run_until_alone() {
        return loop_.run_until([] { return own_children().empty(); });
    }
    /// Returns the arguments of each process that was built.
    [[nodiscard]] std::vector<std::string> built() const {
        std::vector<std::string> lines;
        std::ifstream file(folder_.file("built"));
        for (std::string line; std::getline(file, line);) lines.push_back(line);
        return lines;
    }
    [[nodiscard]] std::vector<std::string> logged() const {
        std::vector<std::string> lines;
        for (const LogLine* line : output_.log().lines(0, 100)) lines.push_back(line->text);
        return lines;
    }

    TemporaryFolder folder_;
    TestLoop loop_;
    Children children_{loop_.context()};
    Background disk_{loop_.context(), "test-disk"};
    Clock clock_;
    LaneOutput output_{{.loop = loop_.context(), .disk = disk_, .clock = clock_}, {}};
    std::shared_ptr<WarmProcess> warm_;
};

/// Four pipes: their writing ends are offered, and the test reads from the other ends.
struct TestOffer {
    TestOffer() {
        std::array<UniqueFd*, 4> theirs{&offer.out, &offer.err, &offer.control, &offer.link};
        for (std::size_t i = 0; i < ours.size(); ++i) {
            std::array<int, 2> ends{};
            EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
            ours[i] = UniqueFd(ends[0]);
            *theirs[i] = UniqueFd(ends[1]);
        }
    }
    /// Returns what has arrived; "open" if nothing has and somebody may still write, "" if nobody
    /// can.
    [[nodiscard]] std::string read(std::size_t i) const {
        std::array<char, 100> room{};
        const ssize_t size = ::read(ours[i].get(), room.data(), room.size());
        return size < 0 ? "open" : std::string(room.data(), static_cast<std::size_t>(size));
    }

    /// Gives the offer away; the test does not use it again.
    [[nodiscard]] Guarded::Offer offer_for_good() { return std::move(offer); }

    Guarded::Offer offer;
    std::array<UniqueFd, 4> ours;
};

}  // namespace turnpike
