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

TEST(KeyList, ShowsTheLimitsOfTheKeysThatHaveAny) {
    std::vector<ApiKey> limited = keys;
    limited[0].limits = {.jobs_max = 20, .rate = Rate{.jobs = 5}};
    limited[1].limits = {.bytes_max = gibibyte, .priority_max = Priority{9}};
    EXPECT_EQ(keys_text(limited, {}),
              "NAME  ACCESS  JOBS MAX  BYTES MAX  RATE  PRIORITY MAX  CREATED\n"
              "bob   plain         20          -   5/s             -  2026-11-15T10:00:00.123Z\n"
              "ops   admin          -       1GiB     -             9  2026-11-15T11:00:00.000Z\n");
}

TEST(KeyList, IsJsonIfAsked) {
    std::vector<ApiKey> limited = keys;
    limited[1].limits = {.jobs_max = 20,
                         .bytes_max = kibibyte,
                         .rate = Rate{.jobs = 5},
                         .priority_max = Priority{9}};
    EXPECT_EQ(keys_json(limited),
              R"([{"name":"bob","access":"plain","created":"2026-11-15T10:00:00.123Z",)"
              R"("jobs_max":null,"bytes_max":null,"rate":null,"priority_max":5},)"
              R"({"name":"ops","access":"admin","created":"2026-11-15T11:00:00.000Z",)"
              R"("jobs_max":20,"bytes_max":1024,"rate":"5/s","priority_max":9}])"
              "\n");
    EXPECT_EQ(keys_json({}), "[]\n");
}

}  // namespace
}  // namespace turnpike
