// What the gate's own routes need, without a gate. The test fills in the facts, calls a route or
// makes a page, and reads the orders that the route gave.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "gate/own_routes.h"

namespace turnpike {

struct PagesFixture {
    explicit PagesFixture(Config settings) : config(std::move(settings)) {}
    PagesFixture(const PagesFixture&) = delete;
    PagesFixture& operator=(const PagesFixture&) = delete;

    /// Sends a POST to a route of admins.
    OwnAnswered post(std::string_view target) {
        const FoundRoute found = find_route(http::Method::post, target);
        if (found.route == nullptr) return refuse(found.problem);
        EXPECT_EQ(found.route->rule, Rule::admin);
        return found.route->answer(
            {.deps = deps, .caller = admin, .name = found.name, .query = found.query});
    }

    Config config;
    Engine engine{engine_settings(config, 1)};
    RecentJobs recent;
    Refusals refusals{2};
    Wakeups wakeups;
    Exchanges exchanges{wakeups};
    LostAnswers losses{config.pools.size()};
    Clock clock;
    std::vector<LaneFacts> facts{engine.view(clock.now()).lanes.size()};
    RecentCrashes crashes{1};
    JobNames names{1};
    const Caller admin{.is_admin = true};
    std::vector<Event> orders;
    OwnRouteDeps deps{.config = config,
                      .engine = engine,
                      .recent = recent,
                      .refusals = refusals,
                      .exchanges = exchanges,
                      .losses = losses,
                      .lanes = facts,
                      .crashes = crashes,
                      .log_of = [](std::size_t) { return nullptr; },
                      .names = names,
                      .clock = clock,
                      .started = clock.now(),
                      .address = "http://127.0.0.1:8000",
                      .find_live = [](JobId) { return nullptr; },
                      .is_live = [](JobId) { return false; },
                      .for_each_live = [](const auto&) {},
                      .order = [this](const Event& event) { orders.push_back(event); }};
};

}  // namespace turnpike
