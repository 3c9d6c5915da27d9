#include "cli/key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace turnpike {
namespace {

const std::vector<ApiKey> keys{
    {.name = "bob", .access = Access::plain, .hash = {}, .created = "2026-11-15T10:00:00.123Z"},
    {.name = "ops", .access = Access::admin, .hash = {}, .created = "2026-11-15T11:00:00.000Z"}};

TEST(KeyList, ShowsNamesAndNoHashes) {
    EXPECT_EQ(keys_text(keys, {}),
              "NAME  ACCESS  CREATED\n"
              "bob   plain   2026-11-15T10:00:00.123Z\n"
              "ops   admin   2026-11-15T11:00:00.000Z\n");
}

TEST(KeyList, SaysHowToMakeTheFirst) {
    EXPECT_THAT(keys_text({}, {}), testing::HasSubstr("turnpike key new NAME"));
}

TEST(KeyList, IsJsonIfAsked) {
    EXPECT_EQ(keys_json(keys),
              R"([{"name":"bob","access":"plain","created":"2026-11-15T10:00:00.123Z"},)"
              R"({"name":"ops","access":"admin","created":"2026-11-15T11:00:00.000Z"}])"
              "\n");
    EXPECT_EQ(keys_json({}), "[]\n");
}

}  // namespace
}  // namespace turnpike
