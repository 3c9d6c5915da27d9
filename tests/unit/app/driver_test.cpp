#include "app/driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/loop.h"

namespace turnpike {
namespace {

/// A driver whose hands only take note, and do what a test adds.
struct Wheel {
    explicit Wheel(PoolSettings pool = {})
        : engine(Settings{.pools = {pool}, .seed = 1}), driver(loop.context(), engine, clock) {
        driver.set_hands([this](const Action& action) {
            done.push_back(std::visit([](const auto& a) { return std::string(a.name); }, action));
            act(action);
        });
    }

    TestLoop loop;
    Clock clock;
    Engine engine;
    Driver driver;
    std::vector<std::string> done;
    std::function<void(const Action&)> act = [](const Action&) {};

    [[nodiscard]] long count(const std::string& name) const {
        return std::ranges::count(done, name);
    }
    /// The only worker starts and is ready.
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

}  // namespace
}  // namespace turnpike
