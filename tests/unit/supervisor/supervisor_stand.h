// A supervisor whose workers are the test's: no process runs, and no socket is connected.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "supervisor/supervisor.h"
#include "tests/unit/fake_transport.h"
#include "tests/unit/stream/disk.h"
#include "tests/unit/supervisor/acting_reader.h"
#include "tests/unit/supervisor/native/native_peer.h"
#include "tests/unit/supervisor/process/fake_guard.h"
#include "tests/unit/virtual_time.h"

namespace turnpike {

inline constexpr LaneId native_lane{0}, other_native_lane{1}, http_lane{2}, attached_lane{3};

/// Returns the id of the worker that is the `count`th in this place.
inline WorkerId worker_in(std::uint64_t place, std::uint64_t count = 0) {
    return {count << 32U | place};
}

inline Config three_pools() {
    Config config;
    config.pools.resize(3);
    config.pools[0].name = "native";
    config.pools[0].worker.model = {.kind = ModelChoice::Kind::python,
                                    .path = "/models/digits.py",
                                    .name = "Digits",
                                    .text = "digits.py:Digits"};
    config.pools[0].worker.warm = false;
    config.pools[1].name = "http";
    config.pools[1].worker.command = "serve --port {port}";
    config.pools[2].name = "attached";
    config.pools[2].attach = {{.text = "http://127.0.0.1:9000", .host = "127.0.0.1", .port = 9000}};
    return config;
}

/// Two lanes of native workers, one of a server that Turnpike starts, one of an attached server.
struct SupervisorStand : Disk {
    Config settings = three_pools();
    Machine machine;
    std::vector<LanePlan> plan{
        {.pool = 0}, {.pool = 0}, {.pool = 1}, {.pool = 2, .url = &settings.pools[2].attach[0]}};
    std::vector<PoolFacts> pools{3};
    std::vector<LaneFacts> lanes{4};
    VirtualTime time;
    FakeDialer dialer;
    FakeGuards guards;
    Exchanges exchanges{loop.wakeups()};
    ActingReader reader;
    std::vector<std::string> told;  // the events for the engine: "WorkerExited 1"
    std::vector<ProofEnded> proofs;
    std::vector<CrashReport> crashes;
    std::vector<std::string> environment{"PATH=/bin", "TURNPIKE_KEY=secret",
                                         "TURNPIKE_KEYS=/etc/keys"};
    std::unique_ptr<Supervisor> supervisor;

    void make() {
        supervisor = std::make_unique<Supervisor>(
            WorkerDeps{.loop = loop.context(),
                       .wakeups = loop.wakeups(),
                       .alarms = time,
                       .dialer = dialer,
                       .store = store,
                       .exchanges = exchanges,
                       .background = background,
                       .clock = time.clock(),
                       .lanes = lanes,
                       .deliver = [this](const Event& event) { note(event); }},
            SupervisorDeps{
                .config = settings,
                .machine = machine,
                .plan = plan,
                .pools = pools,
                .driver = std::nullopt,
                .folder = folder.file("."),
                .mark = "1:2:3",
                .version = "1",
                .sdk = "/sdk",
                .log_disk = background,
                .logs = "",
                .environment = environment,
                .random = [] { return std::uint64_t{7}; },
                .crashed = [this](CrashReport report) { crashes.push_back(std::move(report)); },
                .make_guard = guards.maker(),
                .look_at_port =
                    [](std::uint16_t, pid_t, PortLook) {
                        return PortStatus{.holder = PortStatus::Holder::tree,
                                          .listeners = {ListenerId{}}};
                    },
                .listener_at = [](const StreamEndpoint&) { return ListenerId{}; }});
    }
    SupervisorStand() { make(); }

    void note(const Event& event) {
        if (const auto* proof = std::get_if<ProofEnded>(&event)) proofs.push_back(*proof);
        std::visit(
            [this](const auto& one) {
                if constexpr (requires { one.worker.value; })
                    told.push_back(std::string(one.name) + " " + std::to_string(one.worker.value));
            },
            event);
    }
    template <class Condition>
    void wait(Condition holds) {
        EXPECT_TRUE(loop.run_until(holds));
    }

    void start(WorkerId worker, LaneId lane) {
        supervisor->carry_out(StartWorker{.worker = worker, .lane = lane, .generation = {1}});
    }
    /// Starts a native worker that comes up. Returns its end of the link.
    std::unique_ptr<NativePeer> native(WorkerId worker, LaneId lane) {
        auto peer = std::make_unique<NativePeer>(loop);
        start(worker, lane);
        FakeGuard& guard = guards.last();
        peer->own = std::move(guard.link);
        guard.runs();
        peer->say(bytes_of(wire::Hello{.sdk = "python"}) + bytes_of(wire::Ready{}));
        loop.poll();
        peer->hear();
        peer->told.clear();
        told.clear();
        return peer;
    }
    /// Starts a server, or attaches one, that comes up.
    void http(WorkerId worker, LaneId lane) {
        start(worker, lane);
        if (plan[lane.value].url == nullptr) guards.last().runs();
        wait([this] { return dialer.waiting() > 0; });
        const auto peer = dialer.accept();
        peer->says = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        peer->run();
        const std::string ready = "WorkerReady " + std::to_string(worker.value);
        wait([&] { return !told.empty() && told.back() == ready; });
        told.clear();
    }
    void end(FakeGuard& guard, int code) {
        guard.exits(exit_code(code));
        guard.is_gone();
    }
    ExchangePtr send(WorkerId worker, std::uint64_t job) {
        ExchangePtr exchange = exchanges.open(JobId{job});
        exchange->name = "job-" + std::to_string(job);
        exchange->method = "GET";
        exchange->target = "/job";
        exchange->answer.set_reader(&reader);
        exchange->body.complete(store, [](int) {});
        settle();
        supervisor->carry_out(SendJob{.worker = worker, .job = {job}, .attempt = {100 + job}});
        settle();
        return exchange;
    }
    /// Sends every order but `start` to this worker.
    void order_everything(WorkerId worker) {
        supervisor->carry_out(SendJob{.worker = worker, .job = {50}, .attempt = {150}});
        supervisor->carry_out(CancelAttempt{.worker = worker, .attempt = {101}});
        supervisor->carry_out(ProbeWorker{.worker = worker, .probe = 9});
        supervisor->carry_out(ProveWorker{.worker = worker, .proof = 9});
        supervisor->carry_out(StopWorker{.worker = worker, .reason = Reason::drain_asked});
        supervisor->carry_out(KillWorker{.worker = worker, .reason = Reason::drain_asked});
        supervisor->observe(ReportSlowJob{.job = {50}, .attempt = {150}, .worker = worker});
    }
    [[nodiscard]] std::vector<std::string> logged(LaneId lane) const {
        std::vector<std::string> lines;
        for (const LogLine* line : supervisor->log_of(lane.value)->lines(0, 1000))
            lines.push_back(line->text);
        return lines;
    }
};

}  // namespace turnpike
