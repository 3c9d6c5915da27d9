#include "supervisor/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/fake_transport.h"
#include "tests/unit/stream/disk.h"
#include "tests/unit/supervisor/acting_reader.h"
#include "tests/unit/supervisor/native/native_peer.h"
#include "tests/unit/supervisor/process/fake_guard.h"
#include "tests/unit/virtual_time.h"

namespace turnpike {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr LaneId native_lane{0}, other_native_lane{1}, http_lane{2}, attached_lane{3};

/// Returns the id of the worker that is the `count`th in this place.
WorkerId worker_in(std::uint64_t place, std::uint64_t count = 0) { return {count << 32U | place}; }

Config config() {
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
struct Stand : Disk {
    Config settings = config();
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
    std::vector<CrashReport> crashes;
    std::vector<std::string> environment{"PATH=/bin", "TURNPIKE_KEY=secret",
                                         "TURNPIKE_KEYS=/etc/keys"};
    std::unique_ptr<Supervisor> supervisor;

    void make() {
        supervisor = std::make_unique<Supervisor>(
            WorkerDeps{.loop = loop.context(),
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
                        return PortStatus{.holder = PortStatus::Holder::tree};
                    }});
    }
    Stand() { make(); }

    void note(const Event& event) {
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
        if (lane == http_lane) guards.last().runs();
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

// ── which worker a lane gets ─────────────────────────────────────────────────────────────────────

TEST(Supervisor, StartsAWorkerOfTheKindOfItsPool) {
    Stand stand;
    stand.start(worker_in(0), native_lane);
    stand.start(worker_in(1), http_lane);
    ASSERT_THAT(stand.guards.made, SizeIs(2));
    EXPECT_TRUE(stand.guards.made[0]->link) << "frames come over its socket";
    EXPECT_THAT(stand.guards.made[0]->environment, Contains(StartsWith("TURNPIKE_SOCKET=")));
    EXPECT_FALSE(stand.guards.made[1]->link);
    EXPECT_THAT(stand.guards.made[1]->orders.command, StartsWith("serve --port "));
    stand.start(worker_in(2), attached_lane);
    EXPECT_THAT(stand.guards.made, SizeIs(2)) << "somebody else has started it";
    EXPECT_THAT(stand.told, ElementsAre("WorkerStarted 2"));
    stand.wait([&] { return stand.dialer.waiting() == 1; });
}

TEST(Supervisor, KeepsTheKeysOfTheGateFromItsWorkers) {
    Stand stand;
    stand.start(worker_in(0), http_lane);
    EXPECT_THAT(stand.guards.last().environment, Each(Not(StartsWith("TURNPIKE_KEY"))));
    EXPECT_THAT(stand.guards.last().environment, Contains("PATH=/bin"));
}

TEST(Supervisor, MakesPythonWriteItsOutputAtOnceUnlessTheUserChoseOtherwise) {
    Stand stand;
    stand.start(worker_in(0), http_lane);
    EXPECT_THAT(stand.guards.last().environment, Contains("PYTHONUNBUFFERED=1"));
    stand.environment.emplace_back("PYTHONUNBUFFERED=");
    stand.make();
    stand.start(worker_in(0), http_lane);
    EXPECT_THAT(stand.guards.last().environment, Contains("PYTHONUNBUFFERED="));
}

// ── orders ───────────────────────────────────────────────────────────────────────────────────────

TEST(Supervisor, GivesEachOrderToItsNativeWorkerOnly) {
    Stand stand;
    const auto first = stand.native(worker_in(0), native_lane);
    const auto second = stand.native(worker_in(1), other_native_lane);

    stand.send(worker_in(1), 1);
    first->hear();
    second->hear();
    EXPECT_THAT(first->jobs, IsEmpty());
    ASSERT_THAT(second->jobs, SizeIs(1));
    EXPECT_EQ(second->jobs[0].name, "job-1");
    stand.supervisor->carry_out(CancelAttempt{.worker = worker_in(0), .attempt = {101}});
    stand.supervisor->carry_out(CancelAttempt{.worker = worker_in(1), .attempt = {101}});
    stand.supervisor->carry_out(ProbeWorker{.worker = worker_in(0), .probe = 4});
    stand.supervisor->carry_out(StopWorker{.worker = worker_in(1), .reason = Reason::replaced});
    first->hear();
    second->hear();
    EXPECT_THAT(first->told, ElementsAre("ping 5"));
    EXPECT_THAT(second->told, ElementsAre("cancel " + std::to_string(second->jobs[0].id), "stop"));

    first->say(bytes_of(wire::Pong{5}));
    stand.loop.poll();
    EXPECT_THAT(stand.told, ElementsAre("ProbeEnded 0"));
    stand.supervisor->carry_out(KillWorker{.worker = worker_in(0), .reason = Reason::replaced});
    EXPECT_THAT(stand.guards.made[0]->asked, ElementsAre("kill"));
    EXPECT_THAT(stand.guards.made[1]->asked, IsEmpty());
}

TEST(Supervisor, GivesEachOrderToItsServerOnly) {
    Stand stand;
    stand.http(worker_in(0), http_lane);
    stand.http(worker_in(1), attached_lane);
    stand.supervisor->carry_out(ProveWorker{.worker = worker_in(1), .proof = 1});
    ASSERT_EQ(stand.dialer.waiting(), 1U);
    EXPECT_THAT(stand.dialer.accept()->heard,
                AllOf(StartsWith("POST /predict "), HasSubstr("Host: 127.0.0.1:9000\r\n")));
    stand.supervisor->carry_out(ProbeWorker{.worker = worker_in(0), .probe = 1});
    ASSERT_EQ(stand.dialer.waiting(), 1U);
    EXPECT_THAT(stand.dialer.accept()->heard,
                AllOf(StartsWith("GET /health "), Not(HasSubstr("Host: 127.0.0.1:9000\r\n"))));
    stand.send(worker_in(1), 1);
    ASSERT_EQ(stand.dialer.waiting(), 1U);
    EXPECT_THAT(stand.dialer.accept()->heard, StartsWith("GET /job "));
    stand.supervisor->carry_out(CancelAttempt{.worker = worker_in(1), .attempt = {101}});
    EXPECT_THAT(stand.told, ElementsAre("AttemptEnded 1"));
    stand.told.clear();

    stand.supervisor->carry_out(StopWorker{.worker = worker_in(0), .reason = Reason::replaced});
    EXPECT_THAT(stand.guards.last().asked, ElementsAre("terminate"));
    EXPECT_THAT(stand.told, IsEmpty());
    stand.supervisor->carry_out(KillWorker{.worker = worker_in(1), .reason = Reason::replaced});
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited 1", "WorkerGone 1"));
    EXPECT_THAT(stand.guards.last().asked, ElementsAre("terminate"));
}

TEST(Supervisor, IgnoresOrdersForWorkersThatItDoesNotHave) {
    Stand stand;
    stand.order_everything({});
    stand.order_everything(worker_in(0));
    const auto peer = stand.native(worker_in(1), native_lane);
    for (const WorkerId nobody : {WorkerId{}, worker_in(0), worker_in(1, 1), worker_in(7)})
        stand.order_everything(nobody);
    stand.loop.poll();
    peer->hear();
    EXPECT_THAT(peer->told, IsEmpty());
    EXPECT_THAT(peer->jobs, IsEmpty());
    EXPECT_THAT(stand.guards.last().asked, IsEmpty());
    EXPECT_THAT(stand.told, IsEmpty());
}

TEST(Supervisor, UsesAPlaceAgainOnceItsWorkerIsGone) {
    Stand stand;
    const auto first = stand.native(worker_in(0), native_lane);
    stand.end(*stand.guards.made[0], 0);
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited 0", "WorkerGone 0"));

    const WorkerId next = worker_in(0, 1);
    const auto second = stand.native(next, native_lane);
    stand.order_everything(worker_in(0));  // orders that crossed its end
    second->hear();
    EXPECT_THAT(second->told, IsEmpty());
    EXPECT_THAT(stand.guards.last().asked, IsEmpty());
    stand.supervisor->carry_out(ProbeWorker{.worker = next, .probe = 0});
    second->hear();
    EXPECT_THAT(second->told, ElementsAre("ping 1"));
    stand.end(stand.guards.last(), 0);
    const std::string id = std::to_string(next.value);
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited " + id, "WorkerGone " + id));
}

TEST(Supervisor, RefusesAJobForAWorkerThatHasExitedInThisTurn) {
    Stand stand;
    const auto peer = stand.native(worker_in(0), native_lane);
    stand.guards.last().exits(exit_code(1));
    EXPECT_EQ(stand.send(worker_in(0), 1)->attempt.trouble.cause, Cause::worker_died);
    EXPECT_THAT(stand.told, ElementsAre("WorkerExited 0"));
}

TEST(Supervisor, AbandonsItsGuardsWhenTheGateEnds) {
    Stand stand;
    stand.start(worker_in(0), native_lane);
    const auto peer = stand.native(worker_in(1), other_native_lane);
    stand.supervisor.reset();
    EXPECT_THAT(stand.guards.made[0]->asked, ElementsAre("abandon"));
    EXPECT_THAT(stand.guards.made[1]->asked, ElementsAre("abandon"));
    EXPECT_THAT(stand.told, IsEmpty());
}

// ── facts, logs and stacks ───────────────────────────────────────────────────────────────────────

TEST(Supervisor, KeepsTheFactsOfANextWorkerApartUntilTheSwitch) {
    Stand stand;
    const auto peer = stand.native(worker_in(0), native_lane);
    stand.supervisor->carry_out(StartWorker{
        .worker = worker_in(1), .lane = native_lane, .generation = {2}, .is_next = true});
    stand.guards.last().runs();
    const LaneFacts& lane = stand.lanes[0];
    EXPECT_EQ(lane.now.pid, stand.guards.made[0]->worker_pid());
    EXPECT_EQ(lane.next.pid, stand.guards.made[1]->worker_pid());
    stand.supervisor->observe(ReportSwitch{.lane = native_lane, .worker = worker_in(1)});
    EXPECT_EQ(lane.now.pid, stand.guards.made[1]->worker_pid());
    stand.end(*stand.guards.made[0], 0);
    EXPECT_EQ(lane.now.pid, stand.guards.made[1]->worker_pid()) << "the replaced one has ended";
    EXPECT_EQ(lane.past.pid, 0);
}

TEST(Supervisor, LogsOnceThatAWorkerServes) {
    Stand stand;
    stand.http(worker_in(0), http_lane);
    const auto served = [&] {
        int times = 0;
        for (const std::string& line : stand.logged(http_lane))
            times += line.starts_with("serves") ? 1 : 0;
        return times;
    };
    stand.supervisor->observe(ReportLane{.lane = http_lane, .state = LaneState::proving});
    EXPECT_EQ(served(), 0);
    for (int i = 0; i < 2; ++i)
        stand.supervisor->observe(ReportLane{.lane = http_lane, .state = LaneState::ready});
    EXPECT_EQ(served(), 1);
    stand.end(stand.guards.last(), 1);
    stand.http(worker_in(0, 1), http_lane);
    stand.supervisor->observe(ReportLane{.lane = http_lane, .state = LaneState::ready});
    EXPECT_EQ(served(), 2);
}

TEST(Supervisor, KeepsLogsOnlyOfTheLanesThatItStarts) {
    Stand stand;
    EXPECT_NE(stand.supervisor->log_of(http_lane.value), nullptr);
    EXPECT_EQ(stand.supervisor->log_of(attached_lane.value), nullptr);
    EXPECT_EQ(stand.supervisor->log_of(99), nullptr);
    EXPECT_EQ(stand.supervisor->log_problem(), "");
}

TEST(Supervisor, TellsAWorkerThatComesUpThatItPrintedSomething) {
    Stand stand;
    stand.start(worker_in(0), native_lane);
    stand.start(worker_in(1), other_native_lane);
    for (const auto& guard : stand.guards.made) guard->runs();
    stand.told.clear();
    stand.guards.made[1]->prints("importing\n");
    stand.loop.poll();
    EXPECT_THAT(stand.told, ElementsAre("LoadProgressed 1"));
    EXPECT_EQ(stand.lanes[1].now.last_line, "importing");
    EXPECT_EQ(stand.lanes[0].now.last_line, "");
}

TEST(Supervisor, AsksANativeWorkerForItsStacks) {
    Stand stand;
    const auto peer = stand.native(worker_in(0), native_lane);
    EXPECT_EQ(stand.supervisor->dump_stacks(native_lane), std::nullopt);
    stand.loop.poll();
    peer->hear();
    EXPECT_THAT(peer->told, ElementsAre("ask_stacks 1"));
}

TEST(Supervisor, SaysWhyItCannotDumpStacks) {
    Stand stand;
    stand.http(worker_in(0), http_lane);
    stand.http(worker_in(1), attached_lane);
    EXPECT_THAT(stand.supervisor->dump_stacks(attached_lane).value_or(""),
                HasSubstr("was not started by Turnpike"));
    EXPECT_NE(stand.supervisor->dump_stacks(http_lane), std::nullopt) << "it has no process";
    stand.end(stand.guards.last(), 1);
    EXPECT_THAT(stand.supervisor->dump_stacks(http_lane).value_or(""),
                HasSubstr("is not running now"));
    stand.supervisor->observe(ReportSlowJob{.job = {1}, .attempt = {101}, .worker = worker_in(0)});
    stand.supervisor->observe(ReportSlowJob{.job = {1}, .attempt = {101}, .worker = worker_in(1)});
}

TEST(Supervisor, WritesDownTheProcessesThatANextGateWouldHaveToEnd) {
    Stand stand;
    const auto peer = stand.native(worker_in(0), native_lane);
    stand.settle();
    const std::string pid = std::to_string(stand.guards.last().worker_pid());
    EXPECT_THAT(stand.folder.read("processes"), HasSubstr(pid));
    stand.end(stand.guards.last(), 0);
    stand.settle();
    EXPECT_THAT(stand.folder.read("processes"), Not(HasSubstr(pid)));
}

}  // namespace
}  // namespace turnpike
