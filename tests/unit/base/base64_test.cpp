#include "base/base64.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

TEST(Base64, IsThatOfTheStandard) {
    EXPECT_EQ(base64_of(""), "");
    EXPECT_EQ(base64_of("f"), "Zg==");
    EXPECT_EQ(base64_of("fo"), "Zm8=");
    EXPECT_EQ(base64_of("foo"), "Zm9v");
    EXPECT_EQ(base64_of("\xff\xfe\xfd"), "//79");
}

TEST(Base64, ComesBackAsItWas) {
    std::string bytes;
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(bytes_of_base64(base64_of(bytes)), bytes);
        bytes += static_cast<char>(i * 7);
    }
}

TEST(Base64, TakesNothingElse) {
    for (const char* wrong : {"Z", "Zg", "Zg=", "Z===", "Zg==Zg==", "Z-==", "Zm9v\n", "===="})
        EXPECT_EQ(bytes_of_base64(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace turnpike
