#include "base/span_text.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

namespace turnpike {
namespace {

TEST(SpanText, IsInTheUnitThatFits) {
    const std::pair<double, std::string_view> spans[] = {{0, "0 s"},
                                                         {-1, "0 s"},
                                                         {0.0004, "0.4 ms"},
                                                         {0.0099, "9.9 ms"},
                                                         {0.0123, "12 ms"},
                                                         {0.9994, "999 ms"},
                                                         {0.9996, "1.0 s"},
                                                         {59.94, "59.9 s"},
                                                         {59.96, "1 min 0 s"},
                                                         {245, "4 min 5 s"},
                                                         {3599.6, "1 h 0 min"},
                                                         {7500, "2 h 5 min"},
                                                         {273600, "3 d 4 h"},
                                                         {1e300, "11574074074 d 1 h"}};
    for (const auto& [seconds, text] : spans) EXPECT_EQ(span_text(seconds), text);
}

TEST(SpanText, TakesADuration) {
    EXPECT_EQ(span_text(Duration(1500us)), "1.5 ms");
    EXPECT_EQ(span_text(Duration(252s)), "4 min 12 s");
}

}  // namespace
}  // namespace turnpike
