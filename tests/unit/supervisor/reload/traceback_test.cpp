#include "supervisor/reload/traceback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::uint64_t own = 7;

/// A lane's log with lines of this worker and of another one.
struct Written {
    void err(std::string_view lines, std::uint64_t writer = own) {
        LogSource source{.stream = LogStream::err, .writer = writer};
        log.take(source, lines, 0);
        log.end(source, 0);
    }
    LaneLog log;
};

TEST(LastError, IsTheWorkersOwnTraceback) {
    Written written;
    written.err(
        "a warning\nTraceback (most recent call last):\n  File \"<frozen importlib._bootstrap>\", "
        "line 2\n  File \"/a.py\", line 1\nOops: x\n");
    written.err("Traceback (most recent call last):\nAnother: y\n", own + 1);
    LogSource out{.stream = LogStream::out, .writer = own};
    written.log.take(out, "printed\n", 0);
    EXPECT_EQ(last_error(written.log, own),
              "Traceback (most recent call last):\n  File \"/a.py\", line 1\nOops: x");
}

TEST(LastError, HasTheCausesOfTheLastException) {
    Written written;
    written.err(
        "Traceback (most recent call last):\nOld: 0\nbetween\nelsewhere\n"
        "Traceback (most recent call last):\nFirst: 1\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\nSecond: 2\n");
    EXPECT_THAT(last_error(written.log, own),
                StartsWith("Traceback (most recent call last):\nFirst: 1\n"));
}

TEST(LastError, IsTheEndOfAnEndlessOne) {
    Written written;
    std::string text = "Traceback (most recent call last):\n";
    for (int i = 0; i < 500; ++i) text += "  frame " + std::to_string(i) + '\n';
    written.err(text + "RecursionError: deep\n");
    const std::string error = last_error(written.log, own);
    EXPECT_THAT(error, StartsWith("…\n"));
    EXPECT_THAT(error, testing::EndsWith("frame 499\nRecursionError: deep"));
}

TEST(LastError, WithoutATracebackIsTheEndOfStderr) {
    Written written;
    EXPECT_EQ(last_error(written.log, own), "");
    for (int i = 0; i < 20; ++i) written.err("line " + std::to_string(i) + '\n');
    EXPECT_THAT(last_error(written.log, own), StartsWith("line 10\n"));
}

TEST(Traceback, NamesFiles) {
    EXPECT_THAT(
        files_in_traceback("  File \"/a/model.py\", line 3, in load\n    x\n"
                           "  File \"/a/parts.py\", line 1\n  File \"/a/model.py\", line 9\n"
                           "  File \"<frozen importlib>\", line 1\n  File \"rel.py\"\n"),
        ElementsAre("/a/model.py", "/a/parts.py"));
    EXPECT_THAT(files_in_traceback("File \"/unfinished"), ElementsAre("/unfinished"));
    EXPECT_THAT(files_in_traceback("no file"), IsEmpty());
}

}  // namespace
}  // namespace turnpike
