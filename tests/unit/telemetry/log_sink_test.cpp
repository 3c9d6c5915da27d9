#include "telemetry/log_sink.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tests/unit/telemetry/samples.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::unique_ptr<LogSink> opened(LogOptions options) {
    auto log = LogSink::open(std::move(options));
    EXPECT_TRUE(log) << log.error();
    return std::move(*log);
}

LogTarget json_to(std::string path) { return {LogFile{.path = std::move(path)}, LogFormat::json}; }

std::string json_lines(std::uint64_t count) {
    std::string text;
    for (std::uint64_t number = 0; number < count; ++number)
        append_json_line(text, numbered_job(number));
    return text;
}

/// Both ends of a pipe; the reading end never blocks.
struct Pipe {
    Pipe() {
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    }
    ~Pipe() {
        close_reader();
        ::close(ends[1]);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    void close_reader() { ::close(std::exchange(ends[0], -1)); }

    std::string read_all() const {
        std::string all;
        char buffer[4096];
        for (ssize_t count; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;)
            all.append(buffer, static_cast<std::size_t>(count));
        return all;
    }

    LogTarget target(LogFormat format) const {
        return {LogDescriptor{.fd = ends[1], .name = "stdout"}, format};
    }

    int ends[2]{};
};

TEST(LogSink, WritesEveryLineInOrder) {
    const TemporaryFolder folder;
    const auto log = opened({.targets = {json_to(folder.file("jobs.log"))}});
    for (std::uint64_t number = 0; number < 10'000; ++number) log->push(numbered_job(number));
    log->flush();
    EXPECT_EQ(folder.read("jobs.log"), json_lines(10'000));
    EXPECT_EQ(log->lost(), 0U);
    EXPECT_EQ(log->problem(), "");
}

TEST(LogSink, WritesWhatIsLeftWhenItEnds) {
    const TemporaryFolder folder;
    auto log = opened({.targets = {json_to(folder.file("jobs.log"))}, .gather = 1h});
    for (std::uint64_t number = 0; number < 300; ++number) log->push(numbered_job(number));
    log.reset();
    EXPECT_EQ(folder.read("jobs.log"), json_lines(300));
}

TEST(LogSink, WritesByItselfAfterAWhile) {
    const Pipe pipe;
    const auto log = opened({.targets = {pipe.target(LogFormat::json)}, .gather = 1ms});
    ::fcntl(pipe.ends[0], F_SETFL, 0);  // this read waits for the thread
    for (std::uint64_t number = 0; number < 3; ++number) {
        log->push(numbered_job(number));
        std::string line(json_line(numbered_job(number)).size(), '?');
        ASSERT_EQ(::read(pipe.ends[0], line.data(), line.size()), std::ssize(line));
        EXPECT_EQ(line, json_line(numbered_job(number)));
    }
}

TEST(LogSink, WritesEarlierIfItsQueueFillsUp) {
    const Pipe pipe;
    const auto log =
        opened({.targets = {pipe.target(LogFormat::json)}, .lines_max = 4, .gather = 1h});
    ::fcntl(pipe.ends[0], F_SETFL, 0);
    log->push(numbered_job(0));
    log->push(numbered_job(1));
    char first = 0;
    EXPECT_EQ(::read(pipe.ends[0], &first, 1), 1) << "half full: written at once";
}

TEST(LogSink, WritesEachTargetInItsFormat) {
    const TemporaryFolder folder;
    const Pipe pipe;
    const auto log =
        opened({.targets = {json_to(folder.file("jobs.log")), pipe.target(LogFormat::readable)},
                .utc_offset = 2h});
    const JobStart start{.id = Text<24>{"k3f9"}, .lane = LaneId{1}, .at_unix_ns = ten_o_clock};
    log->push(start);
    log->push(sample_job());
    log->flush();
    EXPECT_EQ(folder.read("jobs.log"), json_line(start) + json_line(sample_job()));
    const std::string shown = pipe.read_all();
    EXPECT_THAT(shown, StartsWith("12:00:00.123  k3f9"));
    EXPECT_THAT(shown, HasSubstr("started on lane 1\n12:00:00.135  k3f9"));
}

TEST(LogSink, SaysWhichTargetCantBeOpened) {
    const TemporaryFolder folder;
    const auto log = LogSink::open(
        {.targets = {json_to(folder.file("jobs.log")), json_to(folder.file("missing/jobs.log"))}});
    ASSERT_FALSE(log);
    EXPECT_THAT(log.error(), HasSubstr("missing/jobs.log: No such file or directory"));
}

TEST(LogSink, NeedsNoTarget) {
    const auto log = opened({});
    log->push(sample_job());
    log->flush();
    EXPECT_EQ(log->lost(), 0U);
}

TEST(LogSink, CountsWhatItsQueueCantHoldAndSaysSoInTheLog) {
    const TemporaryFolder folder;
    auto log = opened({.targets = {json_to(folder.file("jobs.log"))}, .lines_max = 1});
    std::uint64_t pushed = 0;
    for (int round = 0; round < 1000 && log->lost() == 0; ++round) {
        for (int i = 0; i < 100; ++i, ++pushed) log->push(sample_job());
        log->flush();
    }
    const std::uint64_t lost = log->lost();
    ASSERT_GT(lost, 0U);
    log.reset();

    std::uint64_t written = 0;
    std::uint64_t reported = 0;
    std::ifstream in(folder.file("jobs.log"));
    const std::string lost_line = R"({"event":"lost","lines":)";
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with(lost_line))
            reported += std::stoull(line.substr(lost_line.size()));
        else
            ++written;
    }
    EXPECT_EQ(reported, lost);
    EXPECT_EQ(written + reported, pushed) << "each line was written or counted";
}

TEST(LogSink, KeepsGoingOnAFullDisk) {
    const TemporaryFolder folder;
    const auto log = opened({.targets = {json_to("/dev/full"), json_to(folder.file("jobs.log"))}});
    constexpr std::uint64_t lines = 5'000;
    ASSERT_GT(json_lines(lines).size(), LogOutlet::pending_bytes_max);
    for (std::uint64_t number = 0; number < lines; ++number) log->push(numbered_job(number));
    log->flush();
    EXPECT_EQ(log->problem(), "can't write the job log to /dev/full: No space left on device");
    EXPECT_GT(log->lost(), 0U) << "not all lines can wait";
    EXPECT_LT(log->lost(), lines) << "some lines can wait";
    EXPECT_EQ(folder.read("jobs.log"), json_lines(lines)) << "the other target has everything";
}

TEST(LogSink, LosesNothingToAShortStall) {
    const Pipe pipe;
    const auto log = opened({.targets = {pipe.target(LogFormat::json)}, .patience = 0s});
    constexpr std::uint64_t lines = 1'000;  // more than the pipe holds, less than the outlet
    for (std::uint64_t number = 0; number < lines; ++number) log->push(numbered_job(number));
    log->flush();
    std::string seen = pipe.read_all();
    EXPECT_LT(seen.size(), json_lines(lines).size());
    while (seen.size() < json_lines(lines).size()) {
        log->flush();
        seen += pipe.read_all();
    }
    EXPECT_EQ(seen, json_lines(lines));
    EXPECT_EQ(log->lost(), 0U);
}

TEST(LogSink, WaitsForASlowReaderWhenItEnds) {
    const Pipe pipe;
    ::fcntl(pipe.ends[0], F_SETFL, 0);
    auto log = opened({.targets = {pipe.target(LogFormat::json)}, .patience = 1min});
    constexpr std::uint64_t lines = 1'000;
    for (std::uint64_t number = 0; number < lines; ++number) log->push(numbered_job(number));
    std::thread ending([&] { log.reset(); });
    std::string seen(json_lines(lines).size(), '?');
    for (std::size_t done = 0; done < seen.size();) {
        const ssize_t count = ::read(pipe.ends[0], seen.data() + done, seen.size() - done);
        ASSERT_GT(count, 0);
        done += static_cast<std::size_t>(count);
    }
    ending.join();
    EXPECT_EQ(seen, json_lines(lines));
}

TEST(LogSink, SaysHowManyLinesALongStallCost) {
    const Pipe pipe;
    const auto log = opened({.targets = {pipe.target(LogFormat::readable)}, .patience = 0s});
    for (std::uint64_t number = 0; number < 20'000; ++number) log->push(numbered_job(number));
    log->flush();
    const std::uint64_t lost = log->lost();
    ASSERT_GT(lost, 0U);
    std::string seen;
    for (std::string more = pipe.read_all(); !more.empty(); more = pipe.read_all()) {
        seen += more;
        log->flush();
    }
    const std::string lost_line = "(" + std::to_string(lost) + " lines of this log were lost)\n";
    EXPECT_THAT(seen, EndsWith(lost_line));
    log->push(sample_job());
    log->flush();
    EXPECT_EQ(pipe.read_all(), readable_line(sample_job())) << "it goes on";
}

TEST(LogSink, BeginsEachLineAsItsTargetWantsIt) {
    const Pipe pipe;
    LogTarget target = pipe.target(LogFormat::readable);
    std::get<LogDescriptor>(target.where).line_prefix = "> ";
    const auto log = opened({.targets = {target}});
    log->push(sample_job());
    log->push(sample_job());
    log->flush();
    const std::string line = "> " + readable_line(sample_job());
    EXPECT_EQ(pipe.read_all(), line + line);
}

TEST(LogSink, StopsATargetWhoseReaderIsGone) {
    const TemporaryFolder folder;
    Pipe pipe;
    pipe.close_reader();
    const auto log =
        opened({.targets = {pipe.target(LogFormat::readable), json_to(folder.file("jobs.log"))}});
    for (int round = 0; round < 2; ++round) {
        log->push(sample_job());
        log->flush();  // an unblocked SIGPIPE would end this program
    }
    EXPECT_EQ(log->problem(),
              "stdout: nobody reads it any more, so the job log is no longer written there");
    EXPECT_EQ(folder.read("jobs.log"), json_line(sample_job()) + json_line(sample_job()));
}

TEST(LogSink, SurvivesADescriptorThatIsClosed) {
    const auto log = opened({.targets = {{LogDescriptor{.fd = 1'000'000}, LogFormat::json}}});
    log->push(sample_job());
    log->flush();
    EXPECT_THAT(log->problem(), HasSubstr("nobody reads it"));
}

TEST(LogSink, ReportsARotationThatFailed) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder.file("jobs.log.1") + "/in the way");
    const LogFile file{.path = folder.file("jobs.log"), .size_max = Bytes{8192}, .keep = 1};
    const auto log = opened({.targets = {{file, LogFormat::json}}});
    for (std::uint64_t number = 0; number < 100; ++number) log->push(numbered_job(number));
    log->flush();
    EXPECT_THAT(log->problem(), HasSubstr("can't rotate the log"));
    EXPECT_EQ(folder.read("jobs.log"), json_lines(100));
}

TEST(LogSink, WritesFromAThreadWithANameOfItsOwn) {
    const auto log = opened({});
    log->flush();  // it has begun
    bool found = false;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        found |= name == "tp-log";
    }
    EXPECT_TRUE(found);
}

}  // namespace
}  // namespace turnpike
