#include "stream/answer.h"

#include <unistd.h>

#include <gtest/gtest.h>
#include <filesystem>

#include <memory>
#include <string>

#include "tests/unit/stream/answer_fixture.h"

namespace turnpike {
namespace {

/// Makes reading back from the test's disk fail.
void truncate_files(const Disk& disk) {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const std::string target = std::filesystem::read_symlink(entry.path(), gone);
        if (!target.starts_with(disk.folder.file(""))) continue;
        if (::truncate(entry.path().c_str(), 0) == 0) ++found;
    }
    EXPECT_GT(found, 0) << "no spool file is open";
}

TEST(Answer, IsReadWhileItIsMade) {
    AnswerFixture fixture;
    fixture.begin_flow();
    EXPECT_EQ(fixture.reader.told, 1);
    fixture.append("one ");
    EXPECT_EQ(fixture.answer->front(), "one ");
    fixture.append("two");
    fixture.read(100);
    EXPECT_EQ(fixture.reader.got, "one two");
    EXPECT_FALSE(fixture.answer->is_drained());
    fixture.complete();
    EXPECT_TRUE(fixture.answer->is_drained());
    EXPECT_EQ(fixture.answer->state(), AnswerState::complete);
    EXPECT_EQ(fixture.reader.told, 4) << "the beginning, each piece and the end";
}

TEST(Answer, ThatIsHeldDoesNotWakeItsReader) {
    AnswerFixture fixture;
    fixture.answer->set_reader(&fixture.reader);
    fixture.answer->start(&fixture.writer);
    fixture.answer->hold();
    fixture.append(numbered(100));
    EXPECT_EQ(fixture.reader.told, 0);
    fixture.complete();
    EXPECT_EQ(fixture.reader.told, 0) << "the reader hears of the end of its job";
    fixture.read(1000);
    EXPECT_EQ(fixture.reader.got, numbered(100));
    EXPECT_TRUE(fixture.answer->is_drained());
}

TEST(Answer, OfNoBytesIsDrainedWhenItIsComplete) {
    AnswerFixture fixture;
    fixture.begin_flow();
    fixture.complete();
    EXPECT_TRUE(fixture.answer->is_drained());
}

TEST(Answer, UpToTheMemoryLimitTouchesNoDisk) {
    AnswerFixture fixture;
    fixture.remove_folder();
    fixture.begin_flow();
    EXPECT_EQ(fixture.append(numbered(100)), Answer::Room::enough);
    fixture.settle();
    EXPECT_EQ(fixture.answer->front().size(), 100U);
}

TEST(Answer, BeyondTheMemoryLimitWaitsOnDisk) {
    AnswerFixture fixture;
    fixture.begin_flow();
    fixture.append(numbered(100));
    EXPECT_EQ(fixture.append(numbered(50)), Answer::Room::enough);
    fixture.settle();
    EXPECT_EQ(fixture.answer->front(), numbered(100));
    fixture.complete();
    fixture.read_all();
    EXPECT_EQ(fixture.reader.got, numbered(100) + numbered(50));
}

TEST(Answer, TellsItsWriterToWaitWhenAllRoomIsTaken) {
    AnswerFixture fixture;
    fixture.begin_flow();
    std::string sent;
    while (fixture.append_as_sent(sent, 10) == Answer::Room::enough) {
        fixture.settle();
        ASSERT_LT(sent.size(), 1000U);
    }
    EXPECT_GE(sent.size(), fixture.store.answer_max);
    EXPECT_LE(sent.size(), fixture.store.answer_max + 2 * fixture.store.step);
    EXPECT_EQ(fixture.writer.told, 0);
}

TEST(Answer, TellsItsWriterToGoOnOnceWhenThereIsRoom) {
    AnswerFixture fixture;
    fixture.begin_flow();
    std::string sent;
    while (fixture.append_as_sent(sent, 10) == Answer::Room::enough) fixture.settle();
    while (fixture.writer.told == 0) {
        ASSERT_LT(fixture.reader.got.size(), sent.size());
        fixture.read(10);
        fixture.settle();
    }
    EXPECT_EQ(fixture.append_as_sent(sent, 10), Answer::Room::enough);
    fixture.complete();
    fixture.read_all();
    EXPECT_EQ(fixture.reader.got, sent);
    EXPECT_EQ(fixture.writer.told, 1);
}

TEST(Answer, WakesItsWriterEvenIfMoreWasOnItsWayWhenItHadToWait) {
    AnswerFixture fixture;
    fixture.begin_flow();
    std::string sent;
    while (fixture.append_as_sent(sent, 10) == Answer::Room::enough) fixture.settle();
    fixture.read(90);  // there is room again, but the writer is not woken before all is taken
    ASSERT_EQ(fixture.writer.told, 0);
    EXPECT_EQ(fixture.append_as_sent(sent, 1), Answer::Room::wait) << "it still has to wait";
    while (fixture.writer.told == 0) {
        ASSERT_LT(fixture.reader.got.size(), sent.size());
        fixture.read(1000);
        fixture.settle();
    }
    fixture.complete();
    fixture.read_all();
    EXPECT_EQ(fixture.reader.got, sent);
    EXPECT_EQ(fixture.writer.told, 1);
}

TEST(Answer, ThatStartsAnewWakesNobodyForWhatCameBefore) {
    AnswerFixture fixture;
    fixture.answer->set_reader(&fixture.reader);
    fixture.answer->start(&fixture.writer).status = 200;
    fixture.answer->flow();
    fixture.answer->start(&fixture.writer);
    fixture.loop.turn();
    EXPECT_EQ(fixture.reader.told, 0);
}

TEST(Answer, WaitsForAReaderWhenTheDiskRefuses) {
    AnswerFixture fixture;
    fixture.remove_folder();
    fixture.begin_flow();
    std::string sent;
    while (fixture.append_as_sent(sent, 10) == Answer::Room::enough) {
        fixture.settle();
        ASSERT_LE(sent.size(), fixture.store.memory_max + 2 * fixture.store.step);
    }
    EXPECT_EQ(fixture.writer.told, 0);
    while (fixture.writer.told == 0 && fixture.reader.got.size() < sent.size()) {
        fixture.read(10);
        fixture.settle();
    }
    EXPECT_EQ(fixture.writer.told, 1);
    fixture.append_as_sent(sent, 10);
    fixture.complete();
    fixture.read_all();
    EXPECT_EQ(fixture.reader.got, sent);
    EXPECT_TRUE(fixture.answer->is_drained());
}

TEST(Answer, LosesNothingWhenTheDiskIsFullInTheMiddle) {
    AnswerFixture fixture;
    fixture.begin_flow();
    std::string sent;
    for (int i = 0; i < 13; ++i) fixture.append_as_sent(sent, 10), fixture.settle();
    {
        const FileSizeLimit limit(32);  // some of it is already there
        while (fixture.append_as_sent(sent, 10) == Answer::Room::enough) fixture.settle();
        fixture.settle();
    }
    fixture.complete();
    fixture.read_all();
    EXPECT_EQ(fixture.reader.got, sent);
}

TEST(Answer, ThatBreaksKeepsWhatCameAndTellsBothThatItIsOver) {
    AnswerFixture fixture;
    fixture.begin_flow();
    fixture.append("half of");
    fixture.break_off();
    EXPECT_EQ(fixture.answer->state(), AnswerState::broken);
    EXPECT_EQ(fixture.reader.told, 3);
    fixture.read(100);
    EXPECT_EQ(fixture.reader.got, "half of");
    EXPECT_FALSE(fixture.answer->is_drained()) << "it is not whole";
}

TEST(Answer, ThatIsAbandonedSwallowsEverything) {
    AnswerFixture fixture;
    fixture.begin_flow();
    fixture.append(numbered(99));
    fixture.abandon();
    EXPECT_EQ(fixture.answer->front(), "");
    const int told = fixture.reader.told;
    for (int i = 0; i < 100; ++i) ASSERT_EQ(fixture.append(numbered(99)), Answer::Room::enough);
    fixture.complete();
    fixture.settle();
    EXPECT_EQ(fixture.answer->front(), "");
    EXPECT_EQ(fixture.reader.told, told) << "nobody reads any more";
}

TEST(Answer, ThatIsAbandonedLetsAWaitingWriterGoOn) {
    AnswerFixture fixture;
    fixture.begin_flow();
    std::string sent;
    while (fixture.append_as_sent(sent, 10) == Answer::Room::enough) fixture.settle();
    fixture.abandon();
    EXPECT_EQ(fixture.writer.told, 1);
    fixture.settle();
    EXPECT_EQ(fixture.writer.told, 1);
}

TEST(Answer, DoesNotCallAWriterThatIsGone) {
    AnswerFixture fixture;
    fixture.begin_flow();
    std::string sent;
    while (fixture.append_as_sent(sent, 10) == Answer::Room::enough) fixture.settle();
    fixture.answer->forget_writer();
    fixture.complete();
    fixture.read_all();
    EXPECT_EQ(fixture.writer.told, 0);
    EXPECT_EQ(fixture.reader.got, sent);
}

TEST(Answer, ForgetsTheEarlierAttempt) {
    AnswerFixture fixture;
    AnswerHead& head = fixture.answer->start(&fixture.writer);
    head.status = 500;
    head.fields = "A: b\r\n";
    head.has_length = true;
    head.length = 7;
    fixture.answer->hold();
    fixture.append("earlier");
    fixture.break_off();

    const AnswerHead& again = fixture.answer->start(&fixture.writer);
    EXPECT_EQ(fixture.answer->state(), AnswerState::none);
    EXPECT_EQ(fixture.answer->front(), "");
    EXPECT_EQ(again.status, 0);
    EXPECT_EQ(again.fields, "");
    EXPECT_FALSE(again.has_length);
    EXPECT_TRUE(again.has_body);
    fixture.answer->hold();
    fixture.append("later");
    fixture.complete();
    EXPECT_EQ(fixture.answer->front(), "later");
}

TEST(Answer, IgnoresADiskThatWorkedForAnEarlierAnswer) {
    AnswerFixture fixture;
    fixture.begin_flow();
    std::string sent;
    fixture.append_as_sent(sent, 100);
    fixture.append_as_sent(sent, 60);  // a write is under way
    fixture.answer->clear();
    fixture.begin_flow();
    fixture.append("new");
    const int told = fixture.reader.told;
    fixture.settle();
    EXPECT_EQ(fixture.answer->front(), "new");
    EXPECT_EQ(fixture.reader.told, told);
    fixture.complete();
    fixture.read_all();
    EXPECT_EQ(fixture.reader.got, "new");
}

TEST(Answer, MayBeGoneWhenTheDiskHasWrittenForIt) {
    AnswerFixture fixture;
    fixture.begin_flow();
    std::string sent;
    fixture.append_as_sent(sent, 100);
    fixture.append_as_sent(sent, 60);
    fixture.answer.reset();
    fixture.settle();
    EXPECT_EQ(fixture.writer.told, 0);
}

TEST(Answer, MayBeGoneWhenTheDiskHasReadForIt) {
    AnswerFixture fixture;
    fixture.begin_flow();
    std::string sent;
    fixture.append_as_sent(sent, 100);
    fixture.append_as_sent(sent, 60);
    fixture.settle();
    fixture.read(100);  // asks for more
    const int told = fixture.reader.told;
    fixture.answer.reset();
    fixture.settle();
    EXPECT_EQ(fixture.reader.told, told);
}

TEST(Answer, IsAsNewWhenCleared) {
    AnswerFixture fixture;
    fixture.begin_flow();
    std::string sent;
    while (fixture.append_as_sent(sent, 10) == Answer::Room::enough) fixture.settle();
    fixture.abandon();
    fixture.answer->clear();
    EXPECT_EQ(fixture.answer->state(), AnswerState::none);
    EXPECT_EQ(fixture.answer->head().status, 0);
    fixture.begin_flow();
    EXPECT_EQ(fixture.append(numbered(100)), Answer::Room::enough);
    fixture.complete();
    fixture.read_all();
    EXPECT_EQ(fixture.reader.got, numbered(100));
}

TEST(Answer, LetsItsWriterGoOnWhenTheDiskGivesNothingBack) {
    AnswerFixture fixture;
    fixture.begin_flow();
    std::string sent;
    while (fixture.append_as_sent(sent, 10) == Answer::Room::enough) fixture.settle();
    fixture.settle();
    truncate_files(fixture);
    fixture.read(1000);  // asks the disk
    const int told = fixture.writer.told;
    while (fixture.append_as_sent(sent, 10) == Answer::Room::enough) ASSERT_LT(sent.size(), 2000U);
    fixture.settle();
    EXPECT_EQ(fixture.answer->state(), AnswerState::lost);
    fixture.abandon();  // as the reader does then
    EXPECT_EQ(fixture.writer.told, told + 1) << "it waits for ever";
}

TEST(Answer, StaysLostWhenItsWriterEndsItLater) {
    AnswerFixture fixture;
    fixture.begin_flow();
    std::string sent;
    while (fixture.append_as_sent(sent, 10) == Answer::Room::enough) fixture.settle();
    fixture.settle();
    truncate_files(fixture);
    fixture.read(1000);
    fixture.settle();
    fixture.complete();
    EXPECT_EQ(fixture.answer->state(), AnswerState::lost);
}

}  // namespace
}  // namespace turnpike
