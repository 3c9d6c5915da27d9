#include "os/shortage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

namespace turnpike {
namespace {

using testing::HasSubstr;

TEST(Shortage, IsToldFromOtherErrors) {
    EXPECT_EQ(shortage_behind(EMFILE), Shortage::descriptors);
    EXPECT_EQ(shortage_behind(ETOOMANYREFS), Shortage::descriptors);
    EXPECT_EQ(shortage_behind(ENFILE), Shortage::files_of_machine);
    EXPECT_EQ(shortage_behind(ENOMEM), Shortage::memory);
    EXPECT_EQ(shortage_behind(ENOSPC), Shortage::disk);
    EXPECT_EQ(shortage_behind(EDQUOT), Shortage::disk);
    EXPECT_EQ(shortage_behind(EAGAIN), Shortage::processes);
    for (const int other : {0, ENOENT, EACCES, EIO, ECONNREFUSED, E2BIG})
        EXPECT_EQ(shortage_behind(other), Shortage::none) << other;
}

TEST(Shortage, HasASentenceOfItsOwnThatSaysWhatToDo) {
    std::set<std::string> texts;
    for (const Shortage shortage : {Shortage::descriptors, Shortage::files_of_machine,
                                    Shortage::memory, Shortage::disk, Shortage::processes})
        EXPECT_TRUE(texts.insert(text_of(shortage)).second);
    EXPECT_EQ(text_of(Shortage::none), "");
    EXPECT_THAT(text_of_error(EMFILE), HasSubstr("ulimit -n"));
    EXPECT_THAT(text_of_error(ENOENT), HasSubstr("No such file"));
}

}  // namespace
}  // namespace turnpike
