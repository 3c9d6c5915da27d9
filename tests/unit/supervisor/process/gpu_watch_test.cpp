#include "supervisor/process/gpu_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/loop.h"
#include "tests/unit/virtual_time.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Look = std::expected<GpuUsage, GpuFailure>;

constexpr LaneId first_lane{0}, wide_lane{1}, cpu_lane{2}, mig_lane{3};
constexpr pid_t dead_pid = 0x40000000;  // no process of this machine has such a pid

/// Two GPUs: `a` has the first lane, and the wide lane has both. Each look at one shows what the
/// test has set.
struct Stand {
    TestLoop loop;
    VirtualTime time;
    std::vector<LanePlan> plan{{.gpus = {{.index = 0, .uuid = "a"}}},
                               {.gpus = {{.index = 0, .uuid = "a"}, {.index = 1, .uuid = "b"}}},
                               {},
                               {.gpus = {{.index = std::nullopt, .uuid = "mig"}}}};
    std::vector<LaneFacts> lanes{4};
    std::vector<std::string> told;  // "GpuLost 0"
    std::mutex mutex;               // the GPUs' threads read these
    std::map<std::string, Look> usage{{"a", GpuUsage{}}, {"b", GpuUsage{}}};
    std::map<std::string, int> looks;
    std::optional<std::shared_future<void>> hangs;  // until then, looks at `a` do not return
    std::unique_ptr<GpuWatch> watch;

    Stand() {
        for (std::size_t lane = 0; lane < plan.size(); ++lane)
            for (const Gpu& gpu : plan[lane].gpus) lanes[lane].gpus.push_back({.uuid = gpu.uuid});
        make([this](const std::string& uuid) { return look(uuid); });
    }
    ~Stand() {
        rest();
        watch.reset();
    }

    void make(LookAtGpu look_at) {
        watch = std::make_unique<GpuWatch>(
            GpuWatchDeps{.loop = loop.context(),
                         .alarms = time,
                         .look = std::move(look_at),
                         .plan = plan,
                         .lanes = lanes,
                         .deliver = [this](const Event& event) {
                             if (const auto* lost = std::get_if<GpuLost>(&event))
                                 told.push_back("GpuLost " + std::to_string(lost->lane.value));
                             if (const auto* freed = std::get_if<MemoryFreed>(&event))
                                 told.push_back("MemoryFreed " + std::to_string(freed->lane.value));
                         }});
    }
    Look look(const std::string& uuid) {
        std::unique_lock lock(mutex);
        ++looks[uuid];
        const auto wait = uuid == "a" ? hangs : std::nullopt;
        const Look seen = usage.at(uuid);
        lock.unlock();
        if (wait) wait->wait();
        return seen;
    }
    void set(const std::string& uuid, Look seen) {
        const std::scoped_lock lock(mutex);
        usage.insert_or_assign(uuid, std::move(seen));
    }
    void hold(const std::string& uuid, pid_t pid) {
        set(uuid, GpuUsage{.memory_used = {}, .processes = {{.pid = pid, .memory = {}}}});
    }
    [[nodiscard]] int looks_at(const std::string& uuid) {
        const std::scoped_lock lock(mutex);
        return looks[uuid];
    }
    /// Waits until no look is under way.
    void rest() {
        EXPECT_TRUE(loop.run_until([this] { return !watch->is_hanging(); }));
    }
    void pass(Duration wait) {
        time.advance(wait, [this] { rest(); });
        rest();
    }
    /// Returns the answer to one question about the memory of these processes.
    std::optional<Memory> ask(LaneId lane, std::vector<pid_t> pids) {
        std::optional<Memory> answer;
        watch->ask_memory(lane, std::move(pids), [&](Memory memory) {
            EXPECT_FALSE(answer) << "it answers twice";
            answer = memory;
        });
        rest();
        return answer;
    }
};

// ── now and then ─────────────────────────────────────────────────────────────────────────────────

TEST(GpuWatch, ShowsNowAndThenHowMuchMemoryIsInUse) {
    Stand stand;
    stand.set("a", GpuUsage{.memory_used = Bytes{100}, .processes = {}});
    stand.watch->start();
    stand.rest();
    EXPECT_EQ(stand.lanes[0].gpus[0].memory_used, Bytes{100});
    EXPECT_EQ(stand.lanes[1].gpus[0].memory_used, Bytes{100}) << "both lanes are on this GPU";
    EXPECT_EQ(stand.lanes[1].gpus[1].memory_used, Bytes{0});
    stand.set("a", GpuUsage{.memory_used = Bytes{300}, .processes = {}});
    stand.pass(1999ms);
    EXPECT_EQ(stand.lanes[0].gpus[0].memory_used, Bytes{100});
    stand.pass(1ms);
    EXPECT_EQ(stand.lanes[0].gpus[0].memory_used, Bytes{300});
    EXPECT_EQ(stand.looks_at("a"), 2) << "one look serves both lanes";
    EXPECT_EQ(stand.looks_at("mig"), 0) << "it has no index";
}

TEST(GpuWatch, TellsEveryLaneOfALostGpuOncePerLoss) {
    Stand stand;
    stand.watch->start();
    stand.rest();
    stand.set("b", std::unexpected(GpuFailure::lost));
    stand.pass(10s);
    EXPECT_THAT(stand.told, ElementsAre("GpuLost 1"));
    stand.set("a", std::unexpected(GpuFailure::lost));
    stand.pass(10s);
    EXPECT_THAT(stand.told, ElementsAre("GpuLost 1", "GpuLost 0", "GpuLost 1"));
    stand.told.clear();
    stand.set("a", GpuUsage{});  // somebody has reset it
    stand.pass(2s);
    stand.set("a", std::unexpected(GpuFailure::lost));
    stand.pass(2s);
    EXPECT_THAT(stand.told, ElementsAre("GpuLost 0", "GpuLost 1"));
}

TEST(GpuWatch, NeitherLosesNorFindsAGpuIfTheDriverCannotAnswer) {
    Stand stand;
    stand.set("a", GpuUsage{.memory_used = Bytes{100}, .processes = {}});
    stand.watch->start();
    stand.rest();
    stand.set("a", std::unexpected(GpuFailure::unknown));
    stand.pass(2s);
    EXPECT_EQ(stand.lanes[0].gpus[0].memory_used, std::nullopt);
    EXPECT_THAT(stand.told, IsEmpty());
    stand.set("a", std::unexpected(GpuFailure::lost));
    stand.pass(2s);
    stand.told.clear();
    stand.set("a", std::unexpected(GpuFailure::unknown));
    stand.pass(2s);
    stand.set("a", std::unexpected(GpuFailure::lost));
    stand.pass(2s);
    EXPECT_THAT(stand.told, IsEmpty()) << "it was lost all the time";
}

// ── the memory of a dead worker ──────────────────────────────────────────────────────────────────

TEST(GpuWatch, SaysWhetherADeadProcessStillHoldsMemory) {
    Stand stand;
    EXPECT_EQ(stand.ask(first_lane, {dead_pid}), Memory::freed);
    stand.hold("a", dead_pid);
    EXPECT_EQ(stand.ask(first_lane, {4711, dead_pid}), Memory::held);
    EXPECT_EQ(stand.ask(first_lane, {dead_pid + 1}), Memory::freed) << "somebody else's memory";
    EXPECT_EQ(stand.ask(first_lane, {}), Memory::freed);
    stand.pass(10s);
    EXPECT_TRUE(stand.lanes[0].now.trouble.is_none()) << "the driver has answered";
}

TEST(GpuWatch, DoesNotTakeALiveProcessForADeadWorkerWithTheSamePid) {
    Stand stand;
    stand.hold("a", ::getpid());
    EXPECT_EQ(stand.ask(first_lane, {::getpid()}), Memory::freed);
}

TEST(GpuWatch, AsksEveryGpuOfTheLane) {
    Stand stand;
    stand.hold("b", dead_pid);
    EXPECT_EQ(stand.ask(wide_lane, {dead_pid}), Memory::held);
    EXPECT_EQ(stand.ask(first_lane, {dead_pid}), Memory::freed) << "it has no part of that GPU";
    stand.hold("a", dead_pid);
    stand.set("b", GpuUsage{});
    EXPECT_EQ(stand.ask(wide_lane, {dead_pid}), Memory::held);
}

TEST(GpuWatch, TakesMemoryForFreeIfTheDriverCannotSay) {
    Stand stand;
    for (const GpuFailure failure : {GpuFailure::lost, GpuFailure::unknown}) {
        stand.set("a", std::unexpected(failure));
        EXPECT_EQ(stand.ask(first_lane, {dead_pid}), Memory::freed);
    }
}

TEST(GpuWatch, AnswersAtOnceIfThereIsNothingToLookAt) {
    Stand stand;
    const auto asks = [&](LaneId lane) {
        std::optional<Memory> answer;
        stand.watch->ask_memory(lane, {dead_pid}, [&](Memory memory) { answer = memory; });
        return answer;
    };
    EXPECT_EQ(asks(cpu_lane), Memory::freed);
    EXPECT_EQ(asks(mig_lane), Memory::freed);
    stand.make({});
    stand.watch->start();
    EXPECT_EQ(asks(first_lane), Memory::freed);
    EXPECT_EQ(stand.time.alarms_set(), 0U);
}

TEST(GpuWatch, TellsOnceWhenHeldMemoryIsFreed) {
    Stand stand;
    stand.hold("a", dead_pid);
    stand.watch->tell_when_freed(first_lane, {dead_pid});
    stand.pass(1s);
    EXPECT_EQ(stand.looks_at("a"), 10);
    EXPECT_THAT(stand.told, IsEmpty());
    stand.set("a", GpuUsage{});
    stand.pass(100ms);
    EXPECT_THAT(stand.told, ElementsAre("MemoryFreed 0"));
    stand.pass(10s);
    EXPECT_THAT(stand.told, ElementsAre("MemoryFreed 0"));
    EXPECT_EQ(stand.looks_at("a"), 11);
}

TEST(GpuWatch, SaysThatADriverHangsAndWaitsForIt) {
    Stand stand;
    std::promise<void> answers;
    stand.hangs = answers.get_future().share();
    std::optional<Memory> answer;
    stand.watch->ask_memory(wide_lane, {dead_pid}, [&](Memory memory) { answer = memory; });
    EXPECT_TRUE(stand.watch->is_hanging());
    stand.time.advance(999ms);
    EXPECT_TRUE(stand.lanes[1].now.trouble.is_none());
    stand.time.advance(1ms);
    EXPECT_THAT(stand.lanes[1].now.trouble.told,
                HasSubstr("the driver of its GPU does not answer"));
    EXPECT_TRUE(stand.lanes[0].now.trouble.is_none()) << "nobody asked for this lane";
    EXPECT_FALSE(answer);
    answers.set_value();
    stand.rest();
    EXPECT_EQ(answer, Memory::freed) << "better late";
}

TEST(GpuWatch, LooksNoMoreOnceItIsDestroyed) {
    Stand stand;
    stand.watch->start();
    stand.watch->tell_when_freed(first_lane, {dead_pid});
    stand.rest();
    EXPECT_GT(stand.time.alarms_set(), 0U);
    stand.watch.reset();
    EXPECT_EQ(stand.time.alarms_set(), 0U);
    stand.make({});  // for the end of the test
}

}  // namespace
}  // namespace turnpike
