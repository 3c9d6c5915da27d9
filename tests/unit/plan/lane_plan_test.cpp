#include "plan/lane_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

Machine machine_with(std::uint32_t gpus) {
    Machine machine;
    for (std::uint32_t i = 0; i < gpus; ++i)
        machine.gpus.push_back({.index = i,
                                .uuid = "GPU-" + std::to_string(i) + "a-" + std::to_string(i),
                                .name = "NVIDIA H200"});
    if (gpus == 0) machine.no_gpus = "libnvidia-ml.so.1 was not found";
    return machine;
}

Config config_of(std::string_view text) {
    auto config = parse_config(text, "t.toml");
    if (config) return std::move(*config);
    for (const Mistake& mistake : config.error()) ADD_FAILURE() << text_of(mistake);
    return {};
}

/// Returns the config of a pool that starts its workers; `lines` begin at line 3.
std::string started(std::string_view lines) {
    return std::string("[pool.a]\nworker = \"x {port}\"\n").append(lines).append("\n");
}

std::string gpus_of(const LanePlan& lane) {
    std::string names;
    for (const Gpu& gpu : lane.gpus)
        names += (names.empty() ? "" : "+") + (gpu.index ? std::to_string(*gpu.index) : gpu.uuid);
    return names.empty() ? "cpu" : names;
}

/// Returns what each lane has (its GPUs, its URL or "cpu"), or the mistakes.
std::vector<std::string> planned(std::string_view text, const Machine& machine) {
    Config config = config_of(text);
    const auto lanes = plan_lanes(config, machine);
    std::vector<std::string> result;
    if (!lanes)
        for (const Mistake& mistake : lanes.error()) result.push_back(text_of(mistake));
    else
        for (const LanePlan& lane : *lanes)
            result.push_back(lane.url != nullptr ? lane.url->text : gpus_of(lane));
    return result;
}

// ── the lanes ────────────────────────────────────────────────────────────────────────────────────

TEST(LanePlan, AttachedWorkersAreALaneEach) {
    Config config = config_of("[pool.a]\nattach = [\"http://h:1\", \"http://h:2\"]\n");
    const auto lanes = plan_lanes(config, machine_with(4));
    ASSERT_TRUE(lanes);
    ASSERT_EQ(lanes->size(), 2U);
    EXPECT_EQ((*lanes)[1].url, &config.pools[0].attach[1]);
    EXPECT_THAT((*lanes)[1].gpus, IsEmpty());
    EXPECT_EQ(config.pools[0].settings.lanes, 2U);
}

TEST(LanePlan, EveryGpuIsALane) {
    EXPECT_THAT(planned(started(""), machine_with(1)), ElementsAre("0"));
    EXPECT_THAT(planned(started(""), machine_with(4)), ElementsAre("0", "1", "2", "3"));
    EXPECT_THAT(planned(started("gpus = \"all\""), machine_with(8)),
                ElementsAre("0", "1", "2", "3", "4", "5", "6", "7"));
}

TEST(LanePlan, WithoutAGpuThereAreCpuLanes) {
    EXPECT_THAT(planned(started(""), machine_with(0)), ElementsAre("cpu", "cpu", "cpu", "cpu"));
    EXPECT_THAT(planned(started("gpus = \"all\"\nlanes = 2"), machine_with(0)),
                ElementsAre("cpu", "cpu"));
    EXPECT_THAT(planned(started("gpus = \"none\"\nlanes = 1"), machine_with(4)),
                ElementsAre("cpu"));
    EXPECT_THAT(planned(started("gpus_per_lane = 2\nlanes = 1"), machine_with(0)),
                ElementsAre("cpu"));
}

TEST(LanePlan, ALaneMayHaveSeveralGpus) {
    EXPECT_THAT(planned(started("gpus_per_lane = 2"), machine_with(4)), ElementsAre("0+1", "2+3"));
    EXPECT_THAT(planned(started("gpus_per_lane = 4\nlanes = 2"), machine_with(4)),
                ElementsAre("0+1+2+3", "0+1+2+3"));
}

TEST(LanePlan, GpusThatCannotBeDividedAreAMistakeUnlessLanesIsSet) {
    EXPECT_THAT(
        planned(started("gpus_per_lane = 2"), machine_with(3)),
        ElementsAre("t.toml:3: pool.a.gpus_per_lane: 3 GPUs can't be divided into lanes of 2; "
                    "lanes = 1 would leave 1 idle"));
    EXPECT_THAT(planned(started("gpus_per_lane = 2\nlanes = 2"), machine_with(3)),
                ElementsAre(HasSubstr("can't be divided into lanes of 2")));
    EXPECT_THAT(planned(started("gpus_per_lane = 2\nlanes = 1"), machine_with(3)),
                ElementsAre("0+1"));
    EXPECT_THAT(planned(started("gpus_per_lane = 4\nlanes = 1"), machine_with(2)),
                ElementsAre("t.toml:3: pool.a.gpus_per_lane: a lane needs 4 GPUs, but the "
                            "pool has 2 GPUs"));
}

TEST(LanePlan, MoreLanesThanGpusShareThem) {
    EXPECT_THAT(planned(started("lanes = 4"), machine_with(1)), ElementsAre("0", "0", "0", "0"));
    EXPECT_THAT(planned(started("lanes = 5"), machine_with(2)),
                ElementsAre("0", "1", "0", "1", "0"));
}

TEST(LanePlan, FewerLanesThanGpusLeaveTheLastOnesIdle) {
    EXPECT_THAT(planned(started("lanes = 2"), machine_with(4)), ElementsAre("0", "1"));
}

TEST(LanePlan, APoolHasAtMost64Lanes) {
    EXPECT_EQ(planned(started(""), machine_with(64)).size(), 64U);
    EXPECT_THAT(planned(started(""), machine_with(65)),
                ElementsAre(StartsWith("t.toml:1: pool.a.lanes: 65 GPUs would make 65 lanes")));
    EXPECT_EQ(planned(started("lanes = 64"), machine_with(65)).size(), 64U);
}

TEST(LanePlan, FollowsTheOrderOfThePools) {
    Config config = config_of(started("gpus = [1, 0]") +
                              "[pool.b]\nattach = [\"http://h:1\"]\n"
                              "[pool.c]\nworker = \"y {port}\"\ngpus = \"none\"\nlanes = 2\n");
    const auto lanes = plan_lanes(config, machine_with(2));
    ASSERT_TRUE(lanes);
    std::vector<std::size_t> pools;
    for (const LanePlan& lane : *lanes) pools.push_back(lane.pool);
    EXPECT_THAT(pools, ElementsAre(0U, 0U, 1U, 2U, 2U));
    EXPECT_EQ(gpus_of(lanes->front()), "1");
    EXPECT_EQ(config.pools[0].settings.lanes, 2U);
    EXPECT_EQ(config.pools[1].settings.lanes, 1U);
    EXPECT_EQ(config.pools[2].settings.lanes, 2U);
}

// ── listed GPUs ──────────────────────────────────────────────────────────────────────────────────

TEST(LanePlan, GpusAreListedByIndexUuidOrTheBeginningOfOne) {
    EXPECT_THAT(planned(started(R"(gpus = [3, "2", "GPU-1a-1", "GPU-0"])"), machine_with(4)),
                ElementsAre("3", "2", "1", "0"));
}

TEST(LanePlan, AnIndexIsThatOfTheMachineAndNotOfTheList) {
    Machine machine = machine_with(4);
    machine.gpus.erase(machine.gpus.begin(), machine.gpus.begin() + 2);
    EXPECT_THAT(planned(started("gpus = [3]"), machine), ElementsAre("3"));
    EXPECT_THAT(planned(started("gpus = [0]"), machine),
                ElementsAre("t.toml:3: pool.a.gpus: there is no GPU 0 here; there are 2,3"));
}

TEST(LanePlan, ABeginningMustBeOfOneGpuOnly) {
    EXPECT_THAT(planned(started(R"(gpus = ["GPU-"])"), machine_with(2)),
                ElementsAre("t.toml:3: pool.a.gpus: GPU- matches 2 GPUs: write more of the UUID"));
    EXPECT_THAT(planned(started(R"(gpus = ["GPU-"])"), machine_with(1)), ElementsAre("0"));
}

TEST(LanePlan, AWholeUuidMatchesOnlyItself) {
    Machine machine = machine_with(2);
    machine.gpus[0].uuid = "GPU-ab";
    machine.gpus[1].uuid = "GPU-a";
    EXPECT_THAT(planned(started(R"(gpus = ["GPU-a"])"), machine), ElementsAre("1"));
}

TEST(LanePlan, MigDevicesArePassedOn) {
    EXPECT_THAT(planned(started(R"(gpus = ["MIG-7", "MIG-8"])"), machine_with(1)),
                ElementsAre("MIG-7", "MIG-8"));
    Machine narrowed;
    narrowed.gpus.push_back({.uuid = "MIG-7"});
    EXPECT_THAT(planned(started(""), narrowed), ElementsAre("MIG-7"));
    EXPECT_THAT(planned(started(R"(gpus = [0])"), narrowed),
                ElementsAre(HasSubstr("there is no GPU 0 here; there is MIG-7")));
}

TEST(LanePlan, AMissingGpuIsAMistakeThatListsTheOthers) {
    EXPECT_THAT(planned(started("gpus = [0,\n4, \"GPU-zz\"]"), machine_with(4)),
                ElementsAre("t.toml:4: pool.a.gpus: there is no GPU 4 here; there are 0,1,2,3",
                            "t.toml:4: pool.a.gpus: there is no GPU GPU-zz here; there are "
                            "0,1,2,3"));
}

TEST(LanePlan, WithoutADriverAListSaysWhy) {
    for (const char* list : {"gpus = [0]", "gpus = [\"MIG-7\"]"})
        EXPECT_THAT(planned(started(list), machine_with(0)),
                    ElementsAre("t.toml:3: pool.a.gpus: there is no GPU here: libnvidia-ml.so.1 "
                                "was not found"));
}

TEST(LanePlan, AGpuIsListedOnce) {
    EXPECT_THAT(planned(started(R"(gpus = [0, "GPU-0a", 1, "MIG-7", "MIG-7"])"), machine_with(2)),
                ElementsAre("t.toml:3: pool.a.gpus: GPU 0 is in the list twice",
                            "t.toml:3: pool.a.gpus: GPU MIG-7 is in the list twice"));
}

TEST(LanePlan, MistakesOfFlagsNameTheFlag) {
    auto config = make_config(std::nullopt, {.worker = "x {port}", .gpus = "0,7"});
    ASSERT_TRUE(config);
    const auto lanes = plan_lanes(*config, machine_with(1));
    ASSERT_FALSE(lanes);
    ASSERT_EQ(lanes.error().size(), 1U);
    EXPECT_EQ(text_of(lanes.error().front()), "--gpus: there is no GPU 7 here; there is 0");
}

// ── several pools ────────────────────────────────────────────────────────────────────────────────

std::string two_pools(std::string_view first, std::string_view second) {
    return started(first) + "[pool.b]\nworker = \"y {port}\"\n" + std::string(second) + "\n";
}

TEST(LanePlan, SeveralPoolsSayWhichGpusAreTheirOwn) {
    EXPECT_THAT(planned(two_pools("gpus = \"all\"", ""), machine_with(2)),
                ElementsAre(StartsWith("t.toml:3: pool.a.gpus: several pools start workers here"),
                            StartsWith("t.toml:4: pool.b.gpus: several pools start workers here")));
    EXPECT_THAT(planned(two_pools("gpus = [0]", ""), machine_with(2)),
                ElementsAre(StartsWith("t.toml:4: pool.b.gpus: several pools")));
    EXPECT_THAT(planned(two_pools("gpus = [0]", "gpus = [1]"), machine_with(2)),
                ElementsAre("0", "1"));
}

TEST(LanePlan, APoolWithoutGpusLeavesThemToTheOther) {
    EXPECT_THAT(planned(two_pools("gpus = \"none\"\nlanes = 1", ""), machine_with(2)),
                ElementsAre("cpu", "0", "1"));
    EXPECT_THAT(planned(started("") + "[pool.b]\nattach = [\"http://h:1\"]\n", machine_with(1)),
                ElementsAre("0", "http://h:1"));
}

TEST(LanePlan, PoolsMayShareAGpuOnPurpose) {
    EXPECT_THAT(planned(two_pools("gpus = [0]", "gpus = [0]"), machine_with(1)),
                ElementsAre("0", "0"));
}

TEST(LanePlan, SeveralPoolsNeedNotChooseGpusIfThereAreNone) {
    EXPECT_THAT(planned(two_pools("lanes = 1", "lanes = 1"), machine_with(0)),
                ElementsAre("cpu", "cpu"));
}

TEST(LanePlan, MistakesOfAllPoolsComeAtOnce) {
    EXPECT_THAT(planned(two_pools("gpus = [9]", "gpus_per_lane = 2\ngpus = [0]"), machine_with(1)),
                ElementsAre(StartsWith("t.toml:3: pool.a.gpus: there is no GPU 9"),
                            StartsWith("t.toml:6: pool.b.gpus_per_lane: a lane needs")));
}

// ── the environment ──────────────────────────────────────────────────────────────────────────────

using Environment = std::vector<std::pair<std::string, std::string>>;

Environment environment(std::string_view lines, const Machine& machine) {
    Config config = config_of(started(lines));
    const auto lanes = plan_lanes(config, machine);
    if (!lanes) return {{"mistake", text_of(lanes.error().front())}};
    return lane_environment(config.pools[0], lanes->back(), lanes->size() - 1, machine);
}

TEST(LaneEnvironment, PinsByIndexInTheOrderOfTheBus) {
    EXPECT_THAT(
        environment("gpus = [0, 3, 2, 1]\ngpus_per_lane = 2", machine_with(4)),
        ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "2,1"), Pair("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
                    Pair("TURNPIKE_LANE", "1"), Pair("TURNPIKE_POOL", "a")));
}

TEST(LaneEnvironment, PinsByUuid) {
    EXPECT_THAT(environment("pin = \"uuid\"\ngpus_per_lane = 2", machine_with(2)),
                ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "GPU-0a-0,GPU-1a-1"),
                            Pair("TURNPIKE_LANE", "0"), Pair("TURNPIKE_POOL", "a")));
}

TEST(LaneEnvironment, DoesNotPinIfAskedNotTo) {
    for (const char* gpus : {"", "gpus = \"none\""})
        EXPECT_THAT(
            environment(std::string("pin = \"none\"\nlanes = 1\n").append(gpus), machine_with(2)),
            ElementsAre(Pair("TURNPIKE_LANE", "0"), Pair("TURNPIKE_POOL", "a")));
}

TEST(LaneEnvironment, NamesDevicesWithoutAnIndex) {
    EXPECT_THAT(environment("gpus = [0, \"MIG-7\"]\ngpus_per_lane = 2", machine_with(1)),
                ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "GPU-0a-0,MIG-7"),
                            Pair("TURNPIKE_LANE", "0"), Pair("TURNPIKE_POOL", "a")));
}

TEST(LaneEnvironment, HidesTheGpusFromACpuLane) {
    for (const char* pin : {"index", "uuid"})
        EXPECT_THAT(environment("lanes = 1\ngpus = \"none\"\npin = \"" + std::string(pin) + '"',
                                machine_with(2)),
                    ElementsAre(Pair("CUDA_VISIBLE_DEVICES", ""), Pair("TURNPIKE_LANE", "0"),
                                Pair("TURNPIKE_POOL", "a")));
    EXPECT_THAT(environment("lanes = 1", machine_with(0)),
                ElementsAre(Pair("TURNPIKE_LANE", "0"), Pair("TURNPIKE_POOL", "a")));
}

TEST(LaneEnvironment, EndsWithThePoolsOwn) {
    EXPECT_THAT(environment("lanes = 1\nenv = { B = \"1\", A = \"2\" }", machine_with(0)),
                ElementsAre(Pair("TURNPIKE_LANE", "0"), Pair("TURNPIKE_POOL", "a"), Pair("B", "1"),
                            Pair("A", "2")));
}

// ── the command ──────────────────────────────────────────────────────────────────────────────────

TEST(LaneCommand, HasEveryWordFilledIn) {
    const Machine machine = machine_with(3);
    const LanePlan lane{.gpus = {machine.gpus[1], machine.gpus[2]}};
    EXPECT_EQ(filled_command("x {port}:{port} {socket} {gpu} {gpus} {lane}", lane, 7,
                             {.port = 8001, .socket = "/run/t/lane-7.sock"}),
              "x 8001:8001 /run/t/lane-7.sock 1 1,2 7");
}

TEST(LaneCommand, SaysCpuWithoutAGpuAndTheNameWithoutAnIndex) {
    EXPECT_EQ(filled_command("{gpu} {gpus}", {}, 0, {}), "cpu cpu");
    EXPECT_EQ(filled_command("{gpu} {gpus}", {.gpus = {Gpu{.uuid = "MIG-7"}}}, 0, {}),
              "MIG-7 MIG-7");
}

TEST(LaneCommand, QuotesTheSocketWhereTheShellNeedsIt) {
    const auto filled = [](const char* socket) {
        return filled_command("--uds={socket}", {}, 0, {.socket = socket});
    };
    EXPECT_EQ(filled("/run/user/0/a_b-c.d"), "--uds=/run/user/0/a_b-c.d");
    EXPECT_EQ(filled("/my runs/$x"), "--uds='/my runs/$x'");
    EXPECT_EQ(filled("/it's"), R"(--uds='/it'\''s')");
    EXPECT_EQ(filled("/{port}"), "--uds='/{port}'") << "what was filled in is not read again";
}

TEST(LaneCommand, OtherBracesAreLeftAlone) {
    for (const char* text : {R"(serve --json '{"a": {}}')", "a${port}b", "{x}", "{PORT} {", "}{"})
        EXPECT_EQ(filled_command(text, {}, 0, {.port = 1}), text);
}

}  // namespace
}  // namespace turnpike
