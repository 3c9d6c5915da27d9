#include "serve/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/loop.h"

namespace turnpike {
namespace {

std::string name_of(const Action& action) {
    return std::visit([](const auto& one) { return std::string(one.name); }, action);
}

/// A driver whose actions are only noted down, plus what a test adds.
struct Wheel {
    explicit Wheel(PoolSettings pool = {})
        : engine(Settings{.pools = {pool}, .seed = 1}), driver(loop.context(), engine, clock) {
        driver.set_carry_out([this](const Action& action) {
            done.push_back(name_of(action));
            carried_out.push_back(action);
            act(action);
        });
    }

    TestLoop loop;
    Clock clock;
    Engine engine;
    Driver driver;
    std::vector<std::string> done;
    std::vector<Action> carried_out;
    std::function<void(const Action&)> act = [](const Action&) {};

    [[nodiscard]] long count(const std::string& name) const {
        return std::ranges::count(done, name);
    }
    /// Starts the only worker and makes it ready.
    void open() {
        act = [this](const Action& action) {
            if (const auto* start = std::get_if<StartWorker>(&action)) worker = start->worker;
        };
        driver.deliver(GateOpened{});
        driver.deliver(WorkerStarted{worker});
        driver.deliver(WorkerReady{worker});
        act = [](const Action&) {};
    }

    WorkerId worker;
};

TEST(Driver, CarriesOutWhatTheEngineWants) {
    Wheel wheel({.lanes = 3});
    wheel.driver.deliver(GateOpened{});
    EXPECT_EQ(wheel.count("StartWorker"), 3);
}

TEST(Driver, LetsNewsWaitUntilTheActionsBeforeAreDone) {
    Wheel wheel({.lanes = 3});
    bool is_first = true;
    wheel.act = [&](const Action& action) {
        if (!std::holds_alternative<StartWorker>(action) || !std::exchange(is_first, false)) return;
        wheel.done.emplace_back("(told)");
        wheel.driver.deliver(
            JobArrived{.ticket = Ticket{1}, .pool = PoolId{0}, .declared = Bytes{0}});
        wheel.done.emplace_back("(told already)");
    };
    wheel.driver.deliver(GateOpened{});
    const auto at = [&](const std::string& name) {
        return std::ranges::find(wheel.done, name) - wheel.done.begin();
    };
    EXPECT_EQ(at("(told already)"), at("(told)") + 1) << "nothing happened in between";
    EXPECT_EQ(wheel.count("StartWorker"), 3);
    EXPECT_EQ(wheel.done.back(), "AdmitJob") << "after all that was wanted before";
}

TEST(Driver, TakesNewsOfNewsInOrder) {
    Wheel wheel;
    wheel.open();
    wheel.done.clear();
    std::uint64_t ticket = 1;
    std::vector<std::uint64_t> admitted;
    wheel.act = [&](const Action& action) {
        const auto* admit = std::get_if<AdmitJob>(&action);
        if (admit == nullptr) return;
        admitted.push_back(admit->ticket.value);
        for (int i = 0; i < 2 && ticket < 50; ++i)
            wheel.driver.deliver(
                JobArrived{.ticket = Ticket{++ticket}, .pool = PoolId{0}, .declared = Bytes{0}});
    };
    wheel.driver.deliver(JobArrived{.ticket = Ticket{1}, .pool = PoolId{0}, .declared = Bytes{0}});
    ASSERT_EQ(admitted.size(), 50U);
    EXPECT_TRUE(std::ranges::is_sorted(admitted));
}

TEST(Driver, WakesWhenTheEngineNeedsTime) {
    Wheel wheel({.ownership = Ownership::attached, .probe_every = 1ms});
    wheel.open();
    EXPECT_TRUE(wheel.loop.run_until([&] {
        wheel.clock.forget();
        return wheel.count("ProbeWorker") > 0;
    }));
}

TEST(Driver, WakesAgainAndAgain) {
    Wheel wheel({.ownership = Ownership::attached, .probe_every = 1ms, .probe_failures_max = 1000});
    wheel.open();
    wheel.act = [&](const Action& action) {
        if (const auto* probe = std::get_if<ProbeWorker>(&action))
            wheel.driver.deliver(ProbeEnded{probe->worker, probe->probe, ProbeVerdict::answered});
    };
    EXPECT_TRUE(wheel.loop.run_until([&] {
        wheel.clock.forget();
        return wheel.count("ProbeWorker") > 5;
    }));
}

TEST(Driver, SetsItsAlarmEarlierWhenSomethingEarlierComes) {
    Wheel wheel({.queue_wait_max = 1h, .load_timeout = 1h});
    std::optional<EndReason> reason;
    wheel.act = [&](const Action& action) {
        if (const auto* end = std::get_if<EndJob>(&action)) reason = end->reason;
        if (const auto* admit = std::get_if<AdmitJob>(&action))
            wheel.driver.deliver(BodyCompleted{admit->job, Bytes{0}});
    };
    wheel.driver.deliver(GateOpened{});  // an alarm in an hour
    wheel.driver.deliver(
        JobArrived{.ticket = Ticket{1}, .pool = PoolId{0}, .declared = Bytes{0}, .timeout = 1ms});
    EXPECT_TRUE(wheel.loop.run_until([&] {
        wheel.clock.forget();
        return reason.has_value();
    }));
    EXPECT_EQ(reason, EndReason::deadline_passed);
}

// ── what overtakes what ──────────────────────────────────────────────────────────────────────────

/// Returns the actions' names and jobs, without the actions of one name.
std::vector<std::string> named(const std::vector<Action>& actions, std::string_view left_out = "") {
    std::vector<std::string> names;
    for (const Action& action : actions) {
        std::string name = name_of(action);
        if (name == left_out) continue;
        if (const auto* send = std::get_if<SendJob>(&action))
            name += " " + std::to_string(send->job.value);
        if (const auto* end = std::get_if<EndJob>(&action))
            name += " " + std::to_string(end->job.value);
        names.push_back(std::move(name));
    }
    return names;
}

/// A driver, and beside it a bare engine that shows the order in which the actions were wanted.
struct Mirrored : Wheel {
    explicit Mirrored(const PoolSettings& pool)
        : Wheel(pool), mirror(Settings{.pools = {pool}, .seed = 1}) {
        act = [this](const Action& action) {
            if (const auto* start = std::get_if<StartWorker>(&action))
                workers.push_back(start->worker);
            if (const auto* admit = std::get_if<AdmitJob>(&action)) jobs.push_back(admit->job);
            if (const auto* send = std::get_if<SendJob>(&action)) sent.push_back(*send);
        };
    }
    void deliver(const Event& event) {
        wanted.clear();
        carried_out.clear();
        mirror.handle(event, clock.now(), wanted);
        driver.deliver(event);
        EXPECT_EQ(named(carried_out, "SendJob"), named(wanted, "SendJob"));
        EXPECT_EQ(named(carried_out, "EndJob"), named(wanted, "EndJob"));
    }
    void come_up() {
        deliver(GateOpened{});
        for (const WorkerId one : workers) deliver(WorkerStarted{one});
        for (const WorkerId one : workers) deliver(WorkerReady{one});
    }
    void add_jobs(int count) {
        for (int i = 0; i < count; ++i) {
            deliver(JobArrived{.ticket = Ticket{++tickets}, .pool = PoolId{0}});
            deliver(BodyCompleted{jobs.back(), Bytes{0}});
        }
    }
    [[nodiscard]] AttemptEnded end_of(std::size_t attempt) const {
        return {sent[attempt].worker, sent[attempt].attempt, Verdict::answered};
    }

    Engine mirror;
    Actions wanted;
    std::vector<WorkerId> workers;
    std::vector<JobId> jobs;
    std::vector<SendJob> sent;
    std::uint64_t tickets = 0;
};

TEST(Driver, SendsTheNextJobBeforeTheLastClientIsAnswered) {
    Mirrored wheel({.lanes = 1});
    wheel.come_up();
    wheel.add_jobs(2);
    ASSERT_EQ(wheel.sent.size(), 1U);
    wheel.deliver(wheel.end_of(0));
    const std::string send = "SendJob " + std::to_string(wheel.jobs[1].value);
    const std::string end = "EndJob " + std::to_string(wheel.jobs[0].value);
    EXPECT_THAT(named(wheel.wanted), testing::ElementsAre(end, send));
    EXPECT_THAT(named(wheel.carried_out), testing::ElementsAre(send, end));
}

TEST(Driver, ChangesThePlaceOfNothingElse) {
    Mirrored wheel({.lanes = 2, .batch = 2});
    wheel.come_up();
    wheel.add_jobs(12);
    wheel.deliver(wheel.end_of(0));
    wheel.deliver(ClientLeft{wheel.sent[1].job});
    wheel.deliver(CancelAsked{wheel.jobs.back()});
    wheel.deliver(WorkerMisbehaved{wheel.workers[1]});
    for (const WorkerId worker : {wheel.workers[0], wheel.workers[1]}) {
        wheel.deliver(WorkerExited{worker});
        wheel.deliver(WorkerGone{worker});
    }
    for (std::size_t i = 0; i < wheel.sent.size(); ++i) wheel.deliver(wheel.end_of(i));
    wheel.deliver(ShutdownAsked{.patience = Duration::zero()});
    EXPECT_GT(wheel.count("EndJob"), 6) << "deliver() has compared them all";
    EXPECT_GT(wheel.count("KillWorker"), 0);
}

TEST(Driver, LetsNewsOfAJobThatOvertookWaitForTheEndThatItOvertook) {
    Mirrored wheel({.lanes = 1});
    wheel.come_up();
    wheel.add_jobs(3);
    wheel.act = [&](const Action& action) {  // each job is answered as soon as it is sent
        if (const auto* send = std::get_if<SendJob>(&action))
            wheel.driver.deliver(AttemptEnded{send->worker, send->attempt, Verdict::answered});
    };
    wheel.carried_out.clear();
    wheel.driver.deliver(wheel.end_of(0));
    const auto of = [&](std::string_view what, std::size_t job) {
        return std::string(what) + " " + std::to_string(wheel.jobs[job].value);
    };
    EXPECT_THAT(named(wheel.carried_out),
                testing::ElementsAre(of("SendJob", 1), of("EndJob", 0), of("SendJob", 2),
                                     of("EndJob", 1), of("EndJob", 2)));
}

}  // namespace
}  // namespace turnpike
