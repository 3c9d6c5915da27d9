#include "supervisor/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/supervisor/supervisor_stand.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Stand = SupervisorStand;

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
