#include "app/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike {
namespace {

using testing::HasSubstr;

ConfigOrMistakes two_pools() {
    return parse_config(
        "[gate]\nlisten = \"[::1]:9000\"\n"
        "[pool.chat]\nattach = [\"http://127.0.0.1:8001\", \"http://127.0.0.1:8002\"]\nslots = 4\n"
        "[pool.draw]\nattach = [\"http://127.0.0.1:8003\"]\ndefault = true\n",
        "t.toml");
}

TEST(Check, SaysWhatWouldBeServed) {
    EXPECT_EQ(served_text(two_pools().value()),
              "listens on [::1]:9000\n"
              "pool chat: 2 lanes, 4 slots each\n"
              "  lane 0  http://127.0.0.1:8001\n"
              "  lane 1  http://127.0.0.1:8002\n"
              "pool draw: 1 lane, 1 slot each, takes jobs that name no pool\n"
              "  lane 2  http://127.0.0.1:8003\n");
}

TEST(Check, SaysThatPortZeroIsAnyPort) {
    const auto config = make_config(std::nullopt, {.attach = {"http://a:1"}, .port = 0});
    EXPECT_THAT(served_text(config.value()), HasSubstr("127.0.0.1:0 (any free port)"));
}

TEST(Check, SaysWhatWouldBeServedInJson) {
    EXPECT_EQ(served_json(two_pools().value()),
              R"({"listen":"[::1]:9000","pools":[{"pool":"chat","slots":4,"default":false,)"
              R"("workers":["http://127.0.0.1:8001","http://127.0.0.1:8002"]},)"
              R"({"pool":"draw","slots":1,"default":true,"workers":["http://127.0.0.1:8003"]}]})"
              "\n");
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
