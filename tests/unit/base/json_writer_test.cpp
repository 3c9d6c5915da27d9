#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <string>

namespace turnpike {
namespace {

std::string written(const auto& write) {
    std::string text;
    JsonWriter json(text);
    write(json);
    return text;
}

TEST(JsonWriter, WritesDurationsAsSeconds) {
    const auto seconds = [](Duration duration) {
        return written([&](JsonWriter& json) { json.value(duration); });
    };
    EXPECT_EQ(seconds(0s), "0");
    EXPECT_EQ(seconds(1250ms), "1.25");
    EXPECT_EQ(seconds(1us), "0.000001");
    EXPECT_EQ(seconds(999ns), "0");
    EXPECT_EQ(seconds(1h), "3600");
    EXPECT_EQ(seconds(-2s), "-2");
}

TEST(JsonWriter, WritesDurationsAsMilliseconds) {
    const auto milliseconds = [](Duration duration) {
        return written([&](JsonWriter& json) { json.milliseconds(duration); });
    };
    EXPECT_EQ(milliseconds(0s), "0");
    EXPECT_EQ(milliseconds(1250500us), "1250.5");
    EXPECT_EQ(milliseconds(1us), "0.001");
    EXPECT_EQ(milliseconds(1h), "3600000");
}

TEST(JsonWriter, WritesThousandths) {
    const auto thousandths = [](std::int64_t number) {
        return written([&](JsonWriter& json) { json.thousandths(number); });
    };
    EXPECT_EQ(thousandths(0), "0");
    EXPECT_EQ(thousandths(405), "0.405");
    EXPECT_EQ(thousandths(50), "0.05");
    EXPECT_EQ(thousandths(1000), "1");
}

TEST(JsonWriter, PutsCommasAroundMembersThatAreJsonAlready) {
    EXPECT_EQ(written([](JsonWriter& json) {
                  json.open_object();
                  json.member("a", 1);
                  json.members(R"("b":2,"c":3)");
                  json.member("d", 4);
                  json.close_object();
              }),
              R"({"a":1,"b":2,"c":3,"d":4})");
}

}  // namespace
}  // namespace turnpike
