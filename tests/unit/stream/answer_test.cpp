#include "stream/answer.h"

#include <unistd.h>

#include <gtest/gtest.h>
#include <filesystem>

#include <memory>
#include <string>

#include "tests/unit/stream/answer_ends.h"

namespace turnpike {
namespace {

/// What is on the test's disk is lost: reading it back fails.
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
    Passage passage;
    passage.begin_flow();
    EXPECT_EQ(passage.reader.told, 1);
    passage.append("one ");
    EXPECT_EQ(passage.answer->front(), "one ");
    passage.append("two");
    passage.read(100);
    EXPECT_EQ(passage.reader.got, "one two");
    EXPECT_FALSE(passage.answer->is_drained());
    passage.answer->complete();
    EXPECT_TRUE(passage.answer->is_drained());
    EXPECT_EQ(passage.answer->state(), AnswerState::complete);
    EXPECT_EQ(passage.reader.told, 4) << "the beginning, each piece and the end";
}

TEST(Answer, ThatIsHeldTellsItsReaderOnlyWhenItIsComplete) {
    Passage passage;
    passage.answer->set_reader(&passage.reader);
    passage.answer->start(&passage.writer);
    passage.answer->hold();
    passage.append(numbered(100));
    EXPECT_EQ(passage.reader.told, 0);
    passage.answer->complete();
    EXPECT_EQ(passage.reader.told, 1);
    passage.read(1000);
    EXPECT_EQ(passage.reader.got, numbered(100));
    EXPECT_TRUE(passage.answer->is_drained());
}

TEST(Answer, OfNoBytesIsDrainedWhenItIsComplete) {
    Passage passage;
    passage.begin_flow();
    passage.answer->complete();
    EXPECT_TRUE(passage.answer->is_drained());
}

TEST(Answer, UpToTheMemoryLimitTouchesNoDisk) {
    Passage passage;
    passage.take_away();
    passage.begin_flow();
    EXPECT_EQ(passage.append(numbered(100)), Answer::Room::enough);
    passage.settle();
    EXPECT_EQ(passage.answer->front().size(), 100U);
}

TEST(Answer, BeyondTheMemoryLimitWaitsOnDisk) {
    Passage passage;
    passage.begin_flow();
    passage.append(numbered(100));
    EXPECT_EQ(passage.append(numbered(50)), Answer::Room::enough);
    passage.settle();
    EXPECT_EQ(passage.answer->front(), numbered(100));
    passage.answer->complete();
    passage.read_all();
    EXPECT_EQ(passage.reader.got, numbered(100) + numbered(50));
}

TEST(Answer, TellsItsWriterToWaitWhenAllRoomIsTaken) {
    Passage passage;
    passage.begin_flow();
    std::string sent;
    while (passage.append_as_sent(sent, 10) == Answer::Room::enough) {
        passage.settle();
        ASSERT_LT(sent.size(), 1000U);
    }
    EXPECT_GE(sent.size(), passage.store.answer_max);
    EXPECT_LE(sent.size(), passage.store.answer_max + 2 * passage.store.step);
    EXPECT_EQ(passage.writer.told, 0);
}

TEST(Answer, TellsItsWriterToGoOnOnceWhenThereIsRoom) {
    Passage passage;
    passage.begin_flow();
    std::string sent;
    while (passage.append_as_sent(sent, 10) == Answer::Room::enough) passage.settle();
    while (passage.writer.told == 0) {
        ASSERT_LT(passage.reader.got.size(), sent.size());
        passage.read(10);
        passage.settle();
    }
    EXPECT_EQ(passage.append_as_sent(sent, 10), Answer::Room::enough);
    passage.answer->complete();
    passage.read_all();
    EXPECT_EQ(passage.reader.got, sent);
    EXPECT_EQ(passage.writer.told, 1);
}

TEST(Answer, WaitsForAReaderWhenTheDiskRefuses) {
    Passage passage;
    passage.take_away();
    passage.begin_flow();
    std::string sent;
    while (passage.append_as_sent(sent, 10) == Answer::Room::enough) {
        passage.settle();
        ASSERT_LE(sent.size(), passage.store.memory_max + 2 * passage.store.step);
    }
    EXPECT_EQ(passage.writer.told, 0);
    while (passage.writer.told == 0 && passage.reader.got.size() < sent.size()) {
        passage.read(10);
        passage.settle();
    }
    EXPECT_EQ(passage.writer.told, 1);
    passage.append_as_sent(sent, 10);
    passage.answer->complete();
    passage.read_all();
    EXPECT_EQ(passage.reader.got, sent);
    EXPECT_TRUE(passage.answer->is_drained());
}

TEST(Answer, LosesNothingWhenTheDiskIsFullInTheMiddle) {
    Passage passage;
    passage.begin_flow();
    std::string sent;
    for (int i = 0; i < 13; ++i) passage.append_as_sent(sent, 10), passage.settle();
    {
        const FileSizeLimit limit(32);  // some of it is already there
        while (passage.append_as_sent(sent, 10) == Answer::Room::enough) passage.settle();
        passage.settle();
    }
    passage.answer->complete();
    passage.read_all();
    EXPECT_EQ(passage.reader.got, sent);
}

TEST(Answer, ThatBreaksKeepsWhatCameAndTellsBothThatItIsOver) {
    Passage passage;
    passage.begin_flow();
    passage.append("half of");
    passage.answer->break_off();
    EXPECT_EQ(passage.answer->state(), AnswerState::broken);
    EXPECT_EQ(passage.reader.told, 3);
    passage.read(100);
    EXPECT_EQ(passage.reader.got, "half of");
    EXPECT_FALSE(passage.answer->is_drained()) << "it is not whole";
}

TEST(Answer, ThatIsAbandonedSwallowsEverything) {
    Passage passage;
    passage.begin_flow();
    passage.append(numbered(99));
    passage.answer->abandon();
    EXPECT_EQ(passage.answer->front(), "");
    const int told = passage.reader.told;
    for (int i = 0; i < 100; ++i) ASSERT_EQ(passage.append(numbered(99)), Answer::Room::enough);
    passage.answer->complete();
    passage.settle();
    EXPECT_EQ(passage.answer->front(), "");
    EXPECT_EQ(passage.reader.told, told) << "nobody reads any more";
}

TEST(Answer, ThatIsAbandonedLetsAWaitingWriterGoOn) {
    Passage passage;
    passage.begin_flow();
    std::string sent;
    while (passage.append_as_sent(sent, 10) == Answer::Room::enough) passage.settle();
    passage.answer->abandon();
    EXPECT_EQ(passage.writer.told, 1);
    passage.settle();
    EXPECT_EQ(passage.writer.told, 1);
}

TEST(Answer, DoesNotCallAWriterThatWent) {
    Passage passage;
    passage.begin_flow();
    std::string sent;
    while (passage.append_as_sent(sent, 10) == Answer::Room::enough) passage.settle();
    passage.answer->forget_writer();
    passage.answer->complete();
    passage.read_all();
    EXPECT_EQ(passage.writer.told, 0);
    EXPECT_EQ(passage.reader.got, sent);
}

TEST(Answer, ForgetsTheEarlierAttempt) {
    Passage passage;
    AnswerHead& head = passage.answer->start(&passage.writer);
    head.status = 500;
    head.fields = "A: b\r\n";
    head.has_length = true;
    head.length = 7;
    passage.answer->hold();
    passage.append("earlier");
    passage.answer->break_off();

    const AnswerHead& again = passage.answer->start(&passage.writer);
    EXPECT_EQ(passage.answer->state(), AnswerState::none);
    EXPECT_EQ(passage.answer->front(), "");
    EXPECT_EQ(again.status, 0);
    EXPECT_EQ(again.fields, "");
    EXPECT_FALSE(again.has_length);
    EXPECT_TRUE(again.has_body);
    passage.answer->hold();
    passage.append("later");
    passage.answer->complete();
    EXPECT_EQ(passage.answer->front(), "later");
}

TEST(Answer, IsNotToldByADiskThatWorkedForAnEarlierOne) {
    Passage passage;
    passage.begin_flow();
    std::string sent;
    passage.append_as_sent(sent, 100);
    passage.append_as_sent(sent, 60);  // a write is under way
    passage.answer->clear();
    passage.begin_flow();
    passage.append("new");
    const int told = passage.reader.told;
    passage.settle();
    EXPECT_EQ(passage.answer->front(), "new");
    EXPECT_EQ(passage.reader.told, told);
    passage.answer->complete();
    passage.read_all();
    EXPECT_EQ(passage.reader.got, "new");
}

TEST(Answer, MayBeGoneWhenTheDiskHasWrittenForIt) {
    Passage passage;
    passage.begin_flow();
    std::string sent;
    passage.append_as_sent(sent, 100);
    passage.append_as_sent(sent, 60);
    passage.answer.reset();
    passage.settle();
    EXPECT_EQ(passage.writer.told, 0);
}

TEST(Answer, MayBeGoneWhenTheDiskHasReadForIt) {
    Passage passage;
    passage.begin_flow();
    std::string sent;
    passage.append_as_sent(sent, 100);
    passage.append_as_sent(sent, 60);
    passage.settle();
    passage.read(100);  // asks for more
    const int told = passage.reader.told;
    passage.answer.reset();
    passage.settle();
    EXPECT_EQ(passage.reader.told, told);
}

TEST(Answer, IsAsNewWhenCleared) {
    Passage passage;
    passage.begin_flow();
    std::string sent;
    while (passage.append_as_sent(sent, 10) == Answer::Room::enough) passage.settle();
    passage.answer->abandon();
    passage.answer->clear();
    EXPECT_EQ(passage.answer->state(), AnswerState::none);
    EXPECT_EQ(passage.answer->head().status, 0);
    passage.begin_flow();
    EXPECT_EQ(passage.append(numbered(100)), Answer::Room::enough);
    passage.answer->complete();
    passage.read_all();
    EXPECT_EQ(passage.reader.got, numbered(100));
}

TEST(Answer, LetsItsWriterGoOnWhenTheDiskGivesNothingBack) {
    Passage passage;
    passage.begin_flow();
    std::string sent;
    while (passage.append_as_sent(sent, 10) == Answer::Room::enough) passage.settle();
    passage.settle();
    truncate_files(passage);
    passage.read(1000);  // asks the disk
    const int told = passage.writer.told;
    while (passage.append_as_sent(sent, 10) == Answer::Room::enough) ASSERT_LT(sent.size(), 2000U);
    passage.settle();
    EXPECT_EQ(passage.answer->state(), AnswerState::lost);
    passage.answer->abandon();  // as the reader does then
    EXPECT_EQ(passage.writer.told, told + 1) << "it waits for ever";
}

TEST(Answer, StaysLostWhenItsWriterEndsItLater) {
    Passage passage;
    passage.begin_flow();
    std::string sent;
    while (passage.append_as_sent(sent, 10) == Answer::Room::enough) passage.settle();
    passage.settle();
    truncate_files(passage);
    passage.read(1000);
    passage.settle();
    passage.answer->complete();
    EXPECT_EQ(passage.answer->state(), AnswerState::lost);
}

}  // namespace
}  // namespace turnpike
