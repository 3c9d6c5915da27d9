#include "cli/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike {
namespace {

using testing::HasSubstr;

CheckedConfig planned(ConfigOrMistakes config, Machine machine = {}) {
    auto lanes = plan_lanes(config.value(), machine);
    return {std::move(config.value()), std::move(machine), std::move(lanes.value())};
}

CheckedConfig two_pools() {
    return planned(parse_config(
        "[gate]\nlisten = \"[::1]:9000\"\n"
        "[pool.chat]\nattach = [\"http://127.0.0.1:8001\", \"http://127.0.0.1:8002\"]\nslots = 4\n"
        "[pool.draw]\nattach = [\"http://127.0.0.1:8003\"]\ndefault = true\n",
        "t.toml"));
}

CheckedConfig started(Machine machine) {
    return planned(parse_config("[pool.a]\nworker = \"serve {port}\"\nlanes = 2\n"
                                "[pool.b]\nattach = [\"http://h:1\"]\n",
                                "t.toml"),
                   std::move(machine));
}

TEST(Check, SaysWhatWouldBeServed) {
    EXPECT_EQ(served_text(two_pools()),
              "listens on [::1]:9000\n"
              "pool chat: 2 lanes, 4 slots each\n"
              "  lane 0  http://127.0.0.1:8001\n"
              "  lane 1  http://127.0.0.1:8002\n"
              "pool draw: 1 lane, 1 slot each, takes jobs that name no pool\n"
              "  lane 2  http://127.0.0.1:8003\n");
}

TEST(Check, SaysWhatIsOddAboutTheMachine) {
    EXPECT_THAT(served_text(started({.remark = "CUDA_VISIBLE_DEVICES names 77"})),
                HasSubstr("\nCUDA_VISIBLE_DEVICES names 77\npool a"));
}

CheckedConfig with_models() {
    CheckedConfig checked =
        planned(parse_config("[pool.a]\nmodel = \"/srv/model.py:Digits\"\nlanes = 1\n"
                             "[pool.b]\nmodel = \"/srv/worker\"\nlanes = 1\nslots = 2\nbatch = 8\n",
                             "t.toml"));
    checked.config.pools[0].worker.python = "/bin/python3";
    checked.python_why[0] = "first python3 on the PATH";
    return checked;
}

TEST(Check, SaysWhichModelAPoolRunsAndWithWhichPython) {
    EXPECT_THAT(served_text(with_models()),
                HasSubstr("pool a: 1 lane, slots as the model says\n"
                          "  model /srv/model.py:Digits\n"
                          "  python /bin/python3 (first python3 on the PATH)\n"
                          "  the model itself is not loaded here; to try it (after pip install "
                          "sdk/python): /bin/python3 -m turnpike check /srv/model.py:Digits\n"
                          "  lane 0  CPU\n"
                          "pool b: 1 lane, 2 slots each\n"
                          "  model /srv/worker\n"
                          "  lane 1  CPU\n"));
    const std::string json = served_json(with_models());
    EXPECT_THAT(json, HasSubstr(R"("slots":null,)"));
    EXPECT_THAT(json, HasSubstr(R"("model":"/srv/model.py:Digits","python":"/bin/python3",)"
                                R"("python_why":"first python3 on the PATH","lanes")"));
    EXPECT_THAT(json, HasSubstr(R"("model":"/srv/worker","batch":8,"lanes")"));
}

TEST(Check, NamesEachPythonOnceForUp) {
    CheckedConfig checked = with_models();
    EXPECT_EQ(pythons_text(checked),
              "turnpike: python: /bin/python3 (first python3 on the PATH)\n");
    checked.config.pools[1].worker.python = "/bin/python3";
    checked.python_why[1] = "first python3 on the PATH";
    EXPECT_EQ(pythons_text(checked),
              "turnpike: python: /bin/python3 (first python3 on the PATH)\n");
    EXPECT_EQ(pythons_text(two_pools()), "");
}

TEST(Check, SaysThatPortZeroIsAnyPort) {
    const CheckedConfig checked =
        planned(make_config(std::nullopt, {.attach = {"http://a:1"}, .port = 0}));
    EXPECT_THAT(served_text(checked), HasSubstr("127.0.0.1:0 (any free port)"));
}

TEST(Check, SaysWhatWouldBeServedInJson) {
    EXPECT_EQ(served_json(two_pools()),
              R"({"listen":"[::1]:9000","pools":[{"pool":"chat","slots":4,"default":false,)"
              R"("workers":["http://127.0.0.1:8001","http://127.0.0.1:8002"],)"
              R"("lanes":[{"lane":0,"gpus":[]},{"lane":1,"gpus":[]}]},)"
              R"({"pool":"draw","slots":1,"default":true,"workers":["http://127.0.0.1:8003"],)"
              R"("lanes":[{"lane":2,"gpus":[]}]}]})"
              "\n");
}

TEST(Check, SaysWhichGpusTheWorkersWouldHave) {
    const Machine machine{
        .gpus = {{.index = 0, .uuid = "GPU-1", .name = "NVIDIA H200"}, {.uuid = "MIG-7"}}};
    EXPECT_EQ(served_text(started(machine)),
              "listens on 127.0.0.1:8000\n"
              "pool a: 2 lanes, 1 slot each\n"
              "  starts serve {port}\n"
              "  lane 0  GPU 0 (NVIDIA H200)\n"
              "  lane 1  GPU MIG-7\n"
              "pool b: 1 lane, 1 slot each\n"
              "  lane 2  http://h:1\n");
    EXPECT_THAT(served_json(started(machine)),
                HasSubstr(R"("workers":[],"worker":"serve {port}","lanes":[)"
                          R"({"lane":0,"gpus":[{"index":0,"uuid":"GPU-1","name":"NVIDIA H200"}]},)"
                          R"({"lane":1,"gpus":[{"index":null,"uuid":"MIG-7","name":""}]}]})"));
}

TEST(Check, SaysWhyThereAreCpuLanes) {
    EXPECT_THAT(served_text(started({.no_gpus = "there is no driver"})),
                HasSubstr("  starts serve {port}\n"
                          "  on the CPU: there is no driver\n"
                          "  lane 0  CPU\n"));
}

TEST(Check, TheLanesStayValidWhereverTheConfigurationIsMoved) {
    CheckedConfig first = two_pools();
    const CheckedConfig second = std::move(first);
    EXPECT_EQ(second.lanes[2].url, second.config.pools[1].attach.data());
}

TEST(Check, ListsEveryMistakeOnItsLine) {
    const std::vector<Mistake> mistakes{
        {.file = "t.toml", .line = 3, .key = "gate.listen", .problem = "is wrong"},
        {.key = "--port", .problem = "is too"}};
    EXPECT_EQ(mistakes_text(mistakes), "t.toml:3: gate.listen: is wrong\n--port: is too\n");
    EXPECT_EQ(mistakes_json(mistakes),
              R"({"mistakes":[{"file":"t.toml","line":3,"key":"gate.listen","problem":"is wrong"},)"
              R"({"file":"","line":0,"key":"--port","problem":"is too"}]})"
              "\n");
}

}  // namespace
}  // namespace turnpike
