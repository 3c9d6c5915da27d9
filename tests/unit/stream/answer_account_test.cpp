// What an answer reports to the account of its gate, in each way in which it waits.
#include "stream/answer_account.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "tests/unit/stream/answer_fixture.h"

namespace turnpike {
namespace {

struct CountingSleeper final : Sleeper {
    int woken = 0;
    void wake() override { ++woken; }
};

UniqueFd file_with(std::string_view bytes) {
    UniqueFd file(::memfd_create("turnpike-test-account", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(::pwrite(file.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    return file;
}

TEST(AnswerAccount, CountsWhatWaitsInMemoryUntilItIsRead) {
    AnswerFixture fixture;
    fixture.begin_flow();
    fixture.append(numbered(60));
    EXPECT_EQ(fixture.account.held(), Bytes{60});
    fixture.read(60);
    EXPECT_EQ(fixture.account.held(), Bytes{0});
}

TEST(AnswerAccount, CountsAnAnswerThatIsNotComplete) {
    AnswerFixture fixture;
    fixture.answer->start(&fixture.writer);
    fixture.answer->hold();
    fixture.append(numbered(60));
    EXPECT_EQ(fixture.account.held(), Bytes{60});
    fixture.answer->break_off();
    fixture.answer->start(&fixture.writer);  // the next attempt
    EXPECT_EQ(fixture.account.held(), Bytes{0});
}

TEST(AnswerAccount, CountsTheSpoolFileAsLargeAsItIsUntilAllOfItIsRead) {
    AnswerFixture fixture;
    fixture.begin_flow();
    std::string sent;
    fixture.append_as_sent(sent, 90);
    while (fixture.append_as_sent(sent, 30) == Answer::Room::enough) fixture.settle();
    EXPECT_GT(fixture.account.spooled().count, 0U);
    EXPECT_GE(fixture.account.held().count, sent.size());
    fixture.complete();
    std::uint64_t most = fixture.account.spooled().count;
    EXPECT_LE(most, fixture.store.answer_max);
    fixture.read_all();
    EXPECT_EQ(fixture.reader.got, sent);
    EXPECT_EQ(fixture.account.held(), Bytes{0});
    EXPECT_EQ(fixture.account.spooled(), Bytes{0});
    fixture.settle();  // the thread of the disk has let go of the file
    EXPECT_EQ(open_files(fixture.store.folder), 0) << "the disk has its room back";
}

TEST(AnswerAccount, CountsAWorkersFileWholeUntilItsLastPieceIsRead) {
    AnswerFixture fixture;
    fixture.begin_flow();
    fixture.answer->adopt(file_with(numbered(95)), 95);
    fixture.complete();
    EXPECT_EQ(fixture.account.held(), Bytes{95});
    EXPECT_EQ(fixture.account.spooled(), Bytes{0});
    for (int piece = 0; piece < 3; ++piece) {
        fixture.answer->want(fixture.store);
        fixture.settle();
        EXPECT_EQ(fixture.account.held(), Bytes{95 + 30});
        fixture.read(30);
        fixture.settle();
    }
    fixture.settle();
    EXPECT_EQ(fixture.account.held(), Bytes{5}) << "the file is closed, its end is in memory";
    EXPECT_EQ(open_files("/memfd:turnpike-test-account"), 0);
    fixture.read_all();
    EXPECT_EQ(fixture.account.held(), Bytes{0});
}

TEST(AnswerAccount, CountsNoHolesOfAWorkersFile) {
    constexpr std::uint64_t size = std::uint64_t{1} << 40;
    constexpr std::uint64_t page = 4096;
    AnswerFixture fixture;
    fixture.begin_flow();
    UniqueFd file = file_with("a beginning");
    ASSERT_EQ(::ftruncate(file.get(), size), 0);
    fixture.answer->adopt(std::move(file), size);
    EXPECT_LE(fixture.account.held(), Bytes{page});
    EXPECT_GT(fixture.account.held(), Bytes{0});
}

TEST(AnswerAccount, GetsEverythingBackHoweverAnAnswerEnds) {
    const auto ends = {+[](AnswerFixture& fixture) { fixture.abandon(); },
                       +[](AnswerFixture& fixture) { fixture.answer->clear(); },
                       +[](AnswerFixture& fixture) { fixture.answer = nullptr; }};
    for (const auto& end : ends) {
        AnswerFixture spooled;
        spooled.begin_flow();
        for (int i = 0; i < 5; ++i) spooled.append(numbered(50));
        spooled.settle();
        EXPECT_GE(spooled.account.held(), Bytes{250});
        end(spooled);
        EXPECT_EQ(spooled.account.held(), Bytes{0});
        EXPECT_EQ(spooled.account.spooled(), Bytes{0});

        AnswerFixture passed;
        passed.begin_flow();
        passed.answer->adopt(file_with(numbered(95)), 95);
        end(passed);
        EXPECT_EQ(passed.account.held(), Bytes{0});
    }
}

TEST(AnswerAccount, WakesItsWatcherWhenTheSumGoesBeyondItsMaximum) {
    Wakeups wakeups;
    AnswerAccount account(wakeups, Bytes{100});
    CountingSleeper watcher;
    account.set_watcher(&watcher);
    AnswerShare one;
    AnswerShare other;
    account.replace(one, {.memory = 60});
    account.replace(other, {.spooled = 40});
    EXPECT_FALSE(account.is_over());
    EXPECT_TRUE(wakeups.empty());
    account.replace(other, {.memory = 1, .spooled = 40});
    account.replace(other, {.memory = 1, .spooled = 40, .passed = 1000});
    EXPECT_TRUE(account.is_over());
    EXPECT_EQ(account.held(), Bytes{1101});
    wakeups.wake_first();
    EXPECT_TRUE(wakeups.empty()) << "once in a turn";
    account.replace(other, {});
    EXPECT_FALSE(account.is_over());
    EXPECT_EQ(account.spooled(), Bytes{0});
    EXPECT_TRUE(wakeups.empty());
}

TEST(SpoolFile, LeavesRoomOnTheDiskForOthers) {
    Disk disk;
    constexpr std::uint64_t whole_disk = std::uint64_t{1} << 60U;
    const std::string bytes = numbered(100);
    SpoolFile file;
    EXPECT_EQ(file.write_leaving(whole_disk, disk.store.folder, bytes.data(), 100, 0), ENOSPC);
    EXPECT_EQ(file.write_leaving(1, disk.store.folder, bytes.data(), 100, 0), 0);
    EXPECT_EQ(file.write_leaving(whole_disk, disk.store.folder, bytes.data(), 50, 50), 0)
        << "the file does not grow by this";
    EXPECT_EQ(file.write_leaving(whole_disk, disk.store.folder, bytes.data(), 50, 51), ENOSPC);
    std::string read(100, '\0');
    EXPECT_EQ(file.read(read.data(), 100, 0), 0);
    EXPECT_EQ(read, bytes.substr(0, 50) + bytes.substr(0, 50));
}

TEST(Answer, WritesToTheDiskAgainWhenThereIsRoom) {
    AnswerFixture fixture;
    const std::string folder = fixture.store.folder;
    fixture.begin_flow();
    std::string sent;
    fixture.append_as_sent(sent, 90);
    fixture.remove_folder();
    while (fixture.append_as_sent(sent, 30) == Answer::Room::enough) fixture.settle();
    EXPECT_EQ(fixture.account.spooled(), Bytes{0});
    fixture.store.folder = folder;
    fixture.read(90);
    fixture.settle();
    fixture.append_as_sent(sent, 90);
    fixture.settle();
    EXPECT_GT(fixture.account.spooled().count, 0U);
    fixture.complete();
    fixture.read_all();
    EXPECT_EQ(fixture.reader.got, sent);
}

}  // namespace
}  // namespace turnpike
