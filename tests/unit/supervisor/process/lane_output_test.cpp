#include "supervisor/process/lane_output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/loop.h"
#include "tests/unit/supervisor/held_thread.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct PipeEnds {
    UniqueFd reading;
    UniqueFd writing;
};

PipeEnds make_pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void say(const UniqueFd& fd, std::string_view text) {
    EXPECT_EQ(::write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

bool nobody_reads(const UniqueFd& fd) {
    pollfd looked{.fd = fd.get(), .events = 0, .revents = 0};
    return ::poll(&looked, 1, 0) == 1 && (looked.revents & POLLERR) != 0;
}

mode_t mode_of(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 0777;
}

struct Stand {
    Stand() : Stand(LogFile{}) {}
    explicit Stand(LogFile file) {
        if (file.path.empty()) file.path = path();
        output.emplace(LaneOutputDeps{.loop = loop.context(),
                                      .disk = *disk,
                                      .clock = clock,
                                      .on_output = [this] { ++heard; }},
                       std::move(file));
    }
    [[nodiscard]] std::string path() const { return folder.file("lanes/0.log"); }
    /// Attaches a pipe and returns its writing end.
    UniqueFd attached(LogStream stream = LogStream::out, std::uint64_t writer = 0) {
        PipeEnds ends = make_pipe();
        output->attach(std::move(ends.reading), stream, writer);
        return std::move(ends.writing);
    }
    [[nodiscard]] std::vector<std::string> texts() const {
        std::vector<std::string> found;
        for (const LogLine* line : output->log().lines(0, 100)) found.push_back(line->text);
        return found;
    }
    void wait_for_lines(std::uint64_t count) {
        EXPECT_TRUE(loop.run_until([&] { return output->log().newest() >= count; }));
    }
    /// Destroys the output, so that everything is written, and returns the file's text.
    std::string written() {
        output.reset();
        disk.reset();
        return folder.read("lanes/0.log");
    }

    TestLoop loop;
    TemporaryFolder folder;
    Clock clock;
    std::optional<Background> disk{std::in_place, loop.context(), "test-disk"};
    int heard = 0;
    std::optional<LaneOutput> output;
};

TEST(LaneOutput, ReadsThePipesOfItsWorker) {
    Stand stand;
    const UniqueFd out = stand.attached(LogStream::out);
    const UniqueFd err = stand.attached(LogStream::err);
    say(out, "hello\n");
    stand.wait_for_lines(1);
    say(err, "oh\n");
    stand.wait_for_lines(2);
    EXPECT_THAT(stand.texts(), ElementsAre("hello", "oh"));
    EXPECT_EQ(stand.output->log().lines(0, 1)[0]->stream, LogStream::err);
    EXPECT_EQ(stand.heard, 2);
}

TEST(LaneOutput, WritesLinesToAFileThatOnlyItsOwnerReads) {
    Stand stand;
    const UniqueFd out = stand.attached();
    say(out, "hello\n");
    stand.wait_for_lines(1);
    stand.output->remark("worker 7 ended");
    const std::string text = stand.written();
    EXPECT_THAT(text, HasSubstr("Z out hello\n"));
    EXPECT_THAT(text, HasSubstr("Z turnpike worker 7 ended\n"));
    EXPECT_EQ(mode_of(stand.path()), 0600U);
    EXPECT_EQ(mode_of(stand.folder.file("lanes")), 0700U);
}

TEST(LaneOutput, ClosesAPipeAtItsEndAndFinishesTheLine) {
    Stand stand;
    UniqueFd out = stand.attached();
    say(out, "no newline");
    out.reset();
    EXPECT_TRUE(stand.loop.run_until([&] { return stand.output->pipes() == 0; }));
    EXPECT_THAT(stand.texts(), ElementsAre("no newline"));
}

TEST(LaneOutput, ReadsWhatIsInThePipesWhenItDetachesThem) {
    Stand stand;
    const UniqueFd out = stand.attached();  // stays open, as if a daemon held it
    const UniqueFd err = stand.attached(LogStream::err);
    const std::string line(1023, 'x');
    for (int i = 0; i < 32; ++i) say(out, line + "\n");
    say(err, "last words");
    stand.output->detach(0);
    EXPECT_EQ(stand.output->pipes(), 0U);
    EXPECT_EQ(stand.output->log().newest(), 33U);
    EXPECT_EQ(stand.texts().back(), "last words");
    stand.loop.poll();
    EXPECT_EQ(stand.output->log().newest(), 33U);
}

TEST(LaneOutput, DetachesOneWriterAndKeepsReadingTheOther) {
    Stand stand;
    const UniqueFd old_out = stand.attached(LogStream::out, 7);
    const UniqueFd old_err = stand.attached(LogStream::err, 7);
    const UniqueFd next_out = stand.attached(LogStream::out, 8);
    say(old_err, "last words");
    say(next_out, "half ");
    stand.output->detach(7);
    EXPECT_EQ(stand.output->pipes(), 1U);
    EXPECT_THAT(stand.texts(), ElementsAre("last words"));
    EXPECT_TRUE(nobody_reads(old_out));
    EXPECT_FALSE(nobody_reads(next_out));
    say(next_out, "of a line\n");
    stand.wait_for_lines(2);
    EXPECT_THAT(stand.texts(), ElementsAre("last words", "half of a line"));
    EXPECT_EQ(stand.output->log().lines(0, 2)[0]->writer, 7U);
    EXPECT_EQ(stand.output->log().lines(0, 2)[1]->writer, 8U);
    stand.output->detach(9);
    EXPECT_EQ(stand.output->pipes(), 1U) << "of whom nobody knows";
}

TEST(LaneOutput, DetachesAPipeThatIsEmpty) {
    Stand stand;
    const UniqueFd out = stand.attached();
    stand.output->detach(0);
    EXPECT_EQ(stand.output->pipes(), 0U);
    EXPECT_THAT(stand.texts(), IsEmpty());
}

TEST(LaneOutput, StopsReadingWhileTheDiskIsBehind) {
    Stand stand;
    std::promise<void> go = hold(*stand.disk);
    const UniqueFd out = stand.attached();
    ASSERT_NE(::fcntl(out.get(), F_SETFL, O_NONBLOCK), -1);
    const std::string text(4095, 'x');
    std::size_t taken = 0;
    const auto push = [&] {
        while (::write(out.get(), (text + "\n").data(), 4096) == 4096) taken += 4096;
    };
    for (std::size_t before = 1; before != taken; stand.loop.poll()) {
        before = taken;
        push();
    }
    EXPECT_GT(taken, LaneOutput::waiting_max);
    constexpr std::size_t pipe_max = 64 * std::size_t{1024};  // the kernel's
    EXPECT_LT(taken, LaneOutput::waiting_max + 4 * LaneOutput::read_max + pipe_max);
    go.set_value();
    const std::size_t full = taken;
    EXPECT_TRUE(stand.loop.run_until([&] {
        push();
        return taken > full + LaneOutput::waiting_max;
    }));
    EXPECT_EQ(stand.output->problem(), "");
    const std::uint64_t lines = stand.output->log().newest();
    const std::string file = stand.written();
    EXPECT_EQ(std::ranges::count(file, '\n'), static_cast<long>(lines)) << "nothing is left out";
}

TEST(LaneOutput, LeavesTextOutRatherThanKeepAWorkerWaitingForADiskThatHangs) {
    Stand stand;
    std::promise<void> go = hold(*stand.disk);
    const UniqueFd out = stand.attached();
    ASSERT_NE(::fcntl(out.get(), F_SETFL, O_NONBLOCK), -1);
    const std::string line = std::string(4095, 'x') + "\n";
    std::size_t taken = 0;
    EXPECT_TRUE(stand.loop.run_until([&] {
        while (::write(out.get(), line.data(), line.size()) > 0) taken += line.size();
        return taken > 16 * LaneOutput::waiting_max;
    })) << "after disk_patience";
    EXPECT_THAT(stand.output->problem(), HasSubstr("0.log"));
    go.set_value();
    EXPECT_TRUE(stand.loop.run_until([&] { return stand.output->problem().empty(); }));
    stand.output->remark("it is back");
    EXPECT_THAT(stand.written(),
                testing::AllOf(HasSubstr("the disk did not take it"), HasSubstr("it is back\n")));
}

TEST(LaneOutput, LeavesRemarksOutOfTheFileWhileTooMuchWaitsForTheDisk) {
    Stand stand;
    std::promise<void> go = hold(*stand.disk);
    const std::string line(999, 'x');
    for (std::size_t said = 0; said < 3 * LaneOutput::waiting_max; said += line.size())
        stand.output->remark(line);  // not from a pipe, which could pause
    stand.output->remark("too late");
    EXPECT_EQ(stand.texts().back(), "too late") << "in memory it is there";
    go.set_value();
    EXPECT_TRUE(stand.loop.run_until([&] {
        return std::filesystem::exists(stand.path()) &&
               stand.folder.read("lanes/0.log").contains("the disk did not take it");
    }));
    stand.output->remark("it is back");
    const std::string file = stand.written();
    EXPECT_THAT(file, testing::EndsWith("turnpike it is back\n"));
    EXPECT_FALSE(file.contains("too late"));
    EXPECT_GT(file.size(), 2 * LaneOutput::waiting_max) << "what may wait was not lost";
    EXPECT_LT(file.size(), 2 * LaneOutput::waiting_max + 4096);
}

TEST(LaneOutput, KeepsLinesInMemoryWithoutADisk) {
    const TemporaryFolder folder;
    folder.write("file", "");
    Stand stand(LogFile{.path = folder.file("file/lanes/0.log")});
    const UniqueFd out = stand.attached();
    say(out, "hello\n");
    stand.wait_for_lines(1);
    EXPECT_TRUE(stand.loop.run_until([&] { return !stand.output->problem().empty(); }));
    EXPECT_THAT(stand.output->problem(), HasSubstr("can't make the folder"));
    EXPECT_THAT(stand.texts(), ElementsAre("hello"));
}

TEST(LaneOutput, DoesNotKeepAWorkerWaitingForADiskThatIsFull) {
    Stand stand(LogFile{.path = "/dev/full"});
    const UniqueFd out = stand.attached();
    for (int i = 0; i < 64; ++i) {
        say(out, std::string(16383, 'x') + "\n");
        stand.wait_for_lines(static_cast<std::uint64_t>(4 * i + 4));
    }
    EXPECT_TRUE(stand.loop.run_until([&] { return !stand.output->problem().empty(); }));
    EXPECT_THAT(stand.output->problem(), HasSubstr("can't write /dev/full"));
}

TEST(LaneOutput, WritesAgainWhenTheDiskIsBack) {
    Stand stand;
    stand.folder.write("lanes", "a file is in the way");
    stand.output->remark("lost");
    EXPECT_TRUE(stand.loop.run_until([&] { return !stand.output->problem().empty(); }));
    std::filesystem::remove(stand.folder.file("lanes"));
    stand.output->remark("found");
    EXPECT_TRUE(stand.loop.run_until([&] { return stand.output->problem().empty(); }));
    EXPECT_THAT(
        stand.written(),
        testing::AllOf(
            HasSubstr("found"), Not(HasSubstr("lost")),
            HasSubstr(
                "turnpike some text before this line is missing: the disk did not take it\n")));
}

TEST(LaneOutput, IsInMemoryOnlyIfThereIsNoPath) {
    TestLoop loop;
    Clock clock;
    Background disk{loop.context(), "test-disk"};
    LaneOutput output({.loop = loop.context(), .disk = disk, .clock = clock}, {});
    output.remark("hello");
    loop.poll();
    EXPECT_EQ(output.log().newest(), 1U);
    EXPECT_EQ(output.problem(), "");
}

TEST(LaneOutput, MayBeDestroyedWhileItsPipesAndItsDiskAreBusy) {
    Stand stand;
    std::promise<void> go = hold(*stand.disk);
    const UniqueFd out = stand.attached();
    stand.output->remark("first");
    say(out, "second\n");
    stand.wait_for_lines(2);
    say(out, "unread\n");
    stand.output.reset();
    go.set_value();
    stand.loop.poll();
    stand.disk.reset();
    stand.loop.poll();
    EXPECT_THAT(stand.folder.read("lanes/0.log"), HasSubstr("second\n"));
}

TEST(LaneOutput, SaysThatItCannotReadADescriptorThatIsNotAPipe) {
    Stand stand;
    stand.folder.write("regular", "text\n");
    stand.output->attach(UniqueFd(::open(stand.folder.file("regular").c_str(), O_RDONLY)),
                         LogStream::out);
    stand.output->attach(UniqueFd(), LogStream::err);
    EXPECT_TRUE(stand.loop.run_until([&] { return stand.output->pipes() == 0; }));
    EXPECT_THAT(stand.texts(), ElementsAre(HasSubstr("stderr of the worker can't be read"),
                                           HasSubstr("stdout of the worker can't be read")));
}

}  // namespace
}  // namespace turnpike
