// What a worker that Turnpike starts needs, without any process: a fake guard, a clock that the test
// moves, and a record of what the engine was told.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "supervisor/process/worker_process.h"
#include "tests/unit/fake_transport.h"
#include "tests/unit/stream/disk.h"
#include "tests/unit/supervisor/process/fake_guard.h"
#include "tests/unit/virtual_time.h"

namespace turnpike {

/// The worker under test is number 1, on lane 0.
struct ProcessStand : Disk {
    VirtualTime time;
    FakeDialer dialer;
    FakeGuards guards;
    Exchanges exchanges{loop.wakeups()};
    std::vector<LaneFacts> lanes{1};
    std::vector<std::string> told;  // the names of the events for the engine, in order
    std::vector<Event> events;
    std::vector<CrashReport> crashes;
    std::vector<pid_t> dumped;  // the guards of the workers whose stacks a tool dumped
    PortStatus port_status;     // what a look at any port or socket shows
    std::optional<ListenerId> listener = ListenerId{.number = 5, .owner = 1000};  // of any port
    int listener_questions = 0;
    std::vector<PortLook> looks;
    std::vector<ListenerId> socket_looks;
    std::expected<GpuUsage, GpuFailure> gpu_usage;  // what a look at any GPU shows
    int processes_changed = 0;

    WorkerDeps deps{.loop = loop.context(),
                    .wakeups = loop.wakeups(),
                    .alarms = time,
                    .dialer = dialer,
                    .store = store,
                    .exchanges = exchanges,
                    .background = background,
                    .clock = time.clock(),
                    .lanes = lanes,
                    .deliver = [this](const Event& event) {
                        events.push_back(event);
                        std::visit([this](const auto& one) { told.emplace_back(one.name); }, event);
                    }};
    PoolConfig pool{.name = "p"};
    std::vector<LanePlan> plan;
    Machine machine;
    GpuWatch gpus{{.loop = loop.context(),
                   .alarms = time,
                   .look = [this](const std::string&) { return gpu_usage; },
                   .plan = plan,
                   .lanes = lanes,
                   .deliver = deps.deliver}};
    LaneOutput output{{.loop = loop.context(), .disk = background, .clock = time.clock()}, {}};
    ProcessDeps process_deps{
        .make_guard = guards.maker(),
        .gpus = gpus,
        .process_table = background,
        .look_at_port =
            [this](std::uint16_t, pid_t, PortLook look) {
                looks.push_back(look);  // the test waits with settle() meanwhile
                return port_status;
            },
        .look_at_socket =
            [this](const ListenerId& id, pid_t) {
                socket_looks.push_back(id);
                return port_status;
            },
        .listener_at =
            [this](const StreamEndpoint&) {
                ++listener_questions;
                return listener;
            },
        .machine = machine,
        .folder = folder.file("."),
        .mark = "1:2:3",
        .sdk = "/sdk",
        .random = [] { return std::uint64_t{7}; },
        .crashed = [this](CrashReport report) { crashes.push_back(std::move(report)); },
        .processes_changed = [this] { ++processes_changed; },
        .dump_stacks_by_tool =
            [this](const WorkerProcess& process) { dumped.push_back(process.guard()); }};
    std::shared_ptr<WarmProcess> warm;  // nullptr: starts are cold
    StartWorker order{.worker = {1}, .lane = {0}, .generation = {1}};

    explicit ProcessStand(std::vector<Gpu> on = {}) : plan{{.gpus = std::move(on)}} {
        lanes[0].begin(order);
    }

    [[nodiscard]] StartedLane lane() {
        return {.pool = pool,
                .plan = plan[0],
                .output = output,
                .proof = nullptr,
                .kept = kept_,
                .warm = warm};
    }
    [[nodiscard]] KeptGeneration& kept() { return *kept_; }
    [[nodiscard]] FakeGuard& guard() { return guards.last(); }
    [[nodiscard]] WorkerFacts& facts() { return lanes[0].now; }
    [[nodiscard]] std::vector<std::string> logged() const {
        std::vector<std::string> lines;
        for (const LogLine* line : output.log().lines(0, 1000)) lines.push_back(line->text);
        return lines;
    }
    /// Moves the clock on. The loop and the background thread do their work at each alarm.
    void pass(Duration wait) {
        time.advance(wait, [this] { settle(); });
        settle();
    }
    /// Returns how often the engine was told this.
    [[nodiscard]] int count(std::string_view name) const {
        int found = 0;
        for (const std::string& one : told) found += one == name ? 1 : 0;
        return found;
    }
    /// Returns the latest event of this kind. There must be one.
    template <class Told>
    [[nodiscard]] Told last() const {
        Told found{};
        bool is_found = false;
        for (const Event& event : events)
            if (const auto* one = std::get_if<Told>(&event)) found = *one, is_found = true;
        EXPECT_TRUE(is_found);
        return found;
    }

private:
    std::shared_ptr<KeptGeneration> kept_ = std::make_shared<KeptGeneration>();
};

}  // namespace turnpike
