// An answer whose body a worker passed in a file.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/unit/stream/answer_fixture.h"

namespace turnpike {
namespace {

constexpr const char* name = "turnpike-test-answer";

int files_held() { return open_files(std::string("/memfd:") + name); }

UniqueFd file_with(std::string_view bytes) {
    UniqueFd file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(::pwrite(file.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    return file;
}

struct Adoption : AnswerFixture {
    void adopt(std::string_view bytes) { answer->adopt(file_with(bytes), bytes.size()); }
    /// Asks for more, as the gate does when it has nothing left to write.
    void want() {
        answer->want(store);
        settle();
    }
};

TEST(AdoptedAnswer, IsReadCompletelyEvenIfItIsLargerThanAnyBuffer) {
    Adoption adoption;
    adoption.begin_flow();
    const std::string bytes = numbered(9997);
    adoption.adopt(bytes);
    adoption.complete();
    EXPECT_EQ(adoption.answer->state(), AnswerState::complete);
    adoption.read_all();
    EXPECT_EQ(adoption.reader.got, bytes);
    EXPECT_TRUE(adoption.answer->is_drained());
}

TEST(AdoptedAnswer, ThatIsHeldDoesNotWakeItsReader) {
    Adoption adoption;
    adoption.answer->set_reader(&adoption.reader);
    adoption.answer->start(&adoption.writer);
    adoption.answer->hold();
    adoption.adopt(numbered(500));
    EXPECT_EQ(adoption.reader.told, 0);
    adoption.complete();
    EXPECT_EQ(adoption.reader.told, 0);
    EXPECT_FALSE(adoption.answer->is_drained());
    adoption.read_all();
    EXPECT_EQ(adoption.reader.got, numbered(500));
}

TEST(AdoptedAnswer, TakesOnePieceOfMemoryHoweverSlowlyItIsRead) {
    Adoption adoption;
    adoption.begin_flow();
    adoption.adopt(numbered(500));
    adoption.complete();
    EXPECT_EQ(adoption.answer->front(), "") << "nobody wants it yet";
    for (int i = 0; i < 3; ++i) {
        adoption.want();
        EXPECT_EQ(adoption.answer->front(), numbered(adoption.store.step));
    }
    adoption.read(10);
    adoption.settle();
    EXPECT_EQ(adoption.answer->front().size(), adoption.store.step - 10);
}

TEST(AdoptedAnswer, TellsItsReaderOfEachPiece) {
    Adoption adoption;
    adoption.begin_flow();
    adoption.adopt(numbered(50));
    adoption.complete();
    int told = adoption.reader.told;
    adoption.want();
    EXPECT_EQ(adoption.reader.told, ++told);
    adoption.read(1000);
    adoption.settle();
    EXPECT_EQ(adoption.reader.told, ++told);
    EXPECT_FALSE(adoption.answer->is_drained()) << "the last piece is not read yet";
    adoption.read(1000);
    EXPECT_TRUE(adoption.answer->is_drained());
    EXPECT_EQ(adoption.reader.got, numbered(50));
}

TEST(AdoptedAnswer, OfNoBytesIsDrainedWhenItIsComplete) {
    Adoption adoption;
    adoption.begin_flow();
    adoption.adopt("");
    EXPECT_EQ(files_held(), 0);
    adoption.complete();
    EXPECT_TRUE(adoption.answer->is_drained());
}

TEST(AdoptedAnswer, GivesItsFileBackWhenItIsAbandoned) {
    Adoption adoption;
    adoption.begin_flow();
    adoption.adopt(numbered(500));
    adoption.complete();
    EXPECT_EQ(files_held(), 1);
    adoption.answer->want(adoption.store);  // a read is under way
    const int told = adoption.reader.told;
    adoption.abandon();
    adoption.settle();
    EXPECT_EQ(files_held(), 0);
    EXPECT_EQ(adoption.reader.told, told);
    EXPECT_TRUE(adoption.answer->is_drained());
}

TEST(AdoptedAnswer, KeepsNoFileIfItWasAbandonedBefore) {
    Adoption adoption;
    adoption.begin_flow();
    adoption.abandon();
    adoption.adopt(numbered(500));
    EXPECT_EQ(files_held(), 0);
    adoption.complete();
    EXPECT_TRUE(adoption.answer->is_drained());
}

TEST(AdoptedAnswer, GivesItsFileBackWhenItIsCleared) {
    Adoption adoption;
    adoption.begin_flow();
    adoption.adopt(numbered(500));
    adoption.complete();
    adoption.answer->want(adoption.store);
    adoption.answer->clear();
    adoption.begin_flow();
    adoption.append("new");
    const int told = adoption.reader.told;
    adoption.settle();
    EXPECT_EQ(files_held(), 0);
    EXPECT_EQ(adoption.reader.told, told) << "by a read for the earlier one";
    EXPECT_EQ(adoption.answer->front(), "new");
}

TEST(AdoptedAnswer, MayBeGoneWhenItsFileIsRead) {
    Adoption adoption;
    adoption.begin_flow();
    adoption.adopt(numbered(500));
    adoption.answer->want(adoption.store);
    const int told = adoption.reader.told;
    adoption.answer.reset();
    adoption.settle();
    EXPECT_EQ(adoption.reader.told, told);
    EXPECT_EQ(files_held(), 0);
}

TEST(AdoptedAnswer, IsForgottenByAFurtherAttempt) {
    Adoption adoption;
    adoption.answer->start(&adoption.writer);
    adoption.answer->hold();
    adoption.adopt(numbered(500));
    adoption.break_off();
    adoption.answer->start(&adoption.writer);
    EXPECT_EQ(files_held(), 0);
    adoption.answer->hold();
    adoption.append("later");
    adoption.complete();
    EXPECT_EQ(adoption.answer->front(), "later");
    adoption.read(100);
    EXPECT_TRUE(adoption.answer->is_drained());
}

TEST(AdoptedAnswer, IsLostIfItsFileIsShorterThanItWasSaidToBe) {
    Adoption adoption;
    adoption.begin_flow();
    adoption.answer->adopt(file_with(numbered(40)), 100);
    adoption.complete();
    adoption.want();
    adoption.read(1000);
    const int told = adoption.reader.told;
    adoption.settle();
    EXPECT_EQ(adoption.answer->state(), AnswerState::lost);
    EXPECT_EQ(adoption.reader.told, told + 1);
}

}  // namespace
}  // namespace turnpike
