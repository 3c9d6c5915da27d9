#include "gate/key_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace turnpike {
namespace {

using testing::HasSubstr;

/// Returns the text of the limit after it was read, or what was wrong with it.
std::string read_back(std::string_view name, std::string_view text) {
    KeyLimits limits;
    const KeyLimit* limit = find_key_limit(name);
    const auto taken = limit->take(limits, text);
    return taken ? limit->text(limits) : "refused: " + taken.error();
}

TEST(KeyLimits, AreReadAndWritten) {
    EXPECT_EQ(read_back("jobs_max", "20"), "20");
    EXPECT_EQ(read_back("jobs_max", "1000000"), "1000000");
    EXPECT_EQ(read_back("bytes_max", "1048576"), "1MiB");
    EXPECT_EQ(read_back("bytes_max", "1.5GiB"), "1536MiB");
    EXPECT_EQ(read_back("rate", "5"), "5/s");
    EXPECT_EQ(read_back("rate", "5/s"), "5/s");
    EXPECT_EQ(read_back("rate", "90/min"), "90/min");
    EXPECT_EQ(read_back("priority_max", "9"), "9");
    EXPECT_EQ(read_back("priority_max", "0"), "0");
    EXPECT_EQ(read_back("priority_max", "5"), "") << "the default";
}

TEST(KeyLimits, HaveBounds) {
    for (const std::string_view text :
         {"0", "1000001", "-1", "+1", "1.5", "", " 1", "1 ", "ten", "99999999999999999999"})
        EXPECT_EQ(read_back("jobs_max", text), "refused: must be a number from 1 to 1000000")
            << text;
    for (const std::string_view text : {"0", "1023", "17TiB", "-1", "", "1GB", "20000000TiB"})
        EXPECT_THAT(read_back("bytes_max", text), HasSubstr("refused: ")) << text;
    for (const std::string_view text :
         {"0", "0/s", "1000001/s", "5/h", "5/", "/s", "5/sec", "5 /s", "1.5/s", "", "5//s"})
        EXPECT_THAT(read_back("rate", text), HasSubstr("such as 5, 5/s or 90/min")) << text;
    for (const std::string_view text : {"10", "-1", "", "high", "5.0"})
        EXPECT_EQ(read_back("priority_max", text), "refused: must be a number from 0 to 9") << text;
}

TEST(KeyLimits, AreFoundByName) {
    for (const KeyLimit& limit : key_limits()) EXPECT_EQ(find_key_limit(limit.name), &limit);
    EXPECT_EQ(find_key_limit("jobs-max"), nullptr);
    EXPECT_EQ(find_key_limit(""), nullptr);
}

TEST(KeyLimits, AreNoneByDefault) {
    for (const KeyLimit& limit : key_limits()) EXPECT_EQ(limit.text(KeyLimits{}), "");
    EXPECT_EQ(KeyLimits{}.priority_max, Priority{5});
}

}  // namespace
}  // namespace turnpike
