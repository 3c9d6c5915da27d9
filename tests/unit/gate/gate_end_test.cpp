// The gate's orderly end: close_all() after the engine has ended all jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/gate/gate_fixture.h"

namespace turnpike {
namespace {

constexpr const char* job = "GET /job HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST(GateEnd, ClosesTheConnectionsOfClientsThatStillRead) {
    GateFixture fixture;
    Client& idle = fixture.ask("");
    Client& half = fixture.ask("GET /job HT");
    fixture.loop.poll();
    EXPECT_EQ(fixture.gate.connections(), 2U);
    fixture.gate.close_all();
    EXPECT_EQ(fixture.gate.connections(), 0U);
    EXPECT_TRUE(fixture.loop.run_until([&] { return idle.is_over && half.is_over; }));
}

TEST(GateEnd, DropsAConnectionThatComesLater) {
    GateFixture fixture;
    fixture.gate.close_all();
    Client& late = fixture.ask(job);  // such as a command of this machine
    EXPECT_EQ(fixture.gate.connections(), 0U);
    EXPECT_TRUE(fixture.loop.run_until([&] { return late.is_over; }));
    EXPECT_EQ(late.got, "");
}

TEST(GateEnd, MustNotComeWhileAJobLives) {
    GateFixture fixture;
    fixture.ask(job);
    ASSERT_TRUE(fixture.loop.run_until([&] { return fixture.next_job == 1; }));
    EXPECT_DEATH(
        {
            fixture.gate.close_all();
            fixture.gate.~Gate();
        },
        "CHECK failed: connections_ == 0");
}

}  // namespace
}  // namespace turnpike
