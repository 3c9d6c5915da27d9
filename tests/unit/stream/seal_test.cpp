// A body as a native worker gets it: a sealed memfd.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <optional>
#include <string>

#include "tests/unit/stream/upload.h"

namespace turnpike {
namespace {

constexpr int all_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

int memfds() { return open_files("/memfd:turnpike-body"); }

/// Returns the whole content of the file.
std::string contents_of(int file) {
    struct stat facts{};
    EXPECT_EQ(::fstat(file, &facts), 0);
    std::string bytes(static_cast<std::size_t>(facts.st_size), '\0');
    EXPECT_EQ(::pread(file, bytes.data(), bytes.size(), 0), facts.st_size);
    return bytes;
}

struct Sealing : Upload {
    struct Told {
        int file = -1;
        int error = 0;
        std::string bytes;
    };
    std::optional<Told> told;

    void use_memory() { store.folder.clear(); }
    void take(std::string_view bytes) {
        ASSERT_EQ(append(bytes), 0);
        ASSERT_EQ(complete(), 0);
    }
    Body::Sealed note_seal() {
        return [this](int file, int error) {
            told = {.file = file, .error = error, .bytes = {}};
            if (file >= 0) told->bytes = contents_of(file);
        };
    }
    Told seal() {
        told.reset();
        body.seal(store, note_seal());
        EXPECT_TRUE(loop.run_until([&] { return told.has_value(); }));
        settle();
        return *told;
    }
};

TEST(SealedBody, IsTheMemfdThatTheBodyWasSpooledTo) {
    Sealing sealing;
    sealing.use_memory();
    sealing.take(numbered(500));
    EXPECT_EQ(memfds(), 1);
    const Sealing::Told told = sealing.seal();
    EXPECT_EQ(told.error, 0);
    EXPECT_EQ(told.bytes, numbered(500));
    EXPECT_EQ(::fcntl(told.file, F_GET_SEALS), all_seals);
    EXPECT_EQ(::fcntl(told.file, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(memfds(), 1) << "it was copied";
}

TEST(SealedBody, CannotBeWrittenByAnybody) {
    Sealing sealing;
    sealing.use_memory();
    sealing.take(numbered(500));
    const int file = sealing.seal().file;
    EXPECT_EQ(::pwrite(file, "x", 1, 0), -1);
    EXPECT_EQ(::ftruncate(file, 0), -1);
    EXPECT_EQ(::ftruncate(file, 501), -1);
}

TEST(SealedBody, IsACopyOfABodyOnDiskAndIsMadeOnce) {
    Sealing sealing;
    sealing.take(numbered(500));
    EXPECT_EQ(memfds(), 0);
    const Sealing::Told told = sealing.seal();
    EXPECT_EQ(told.error, 0);
    EXPECT_EQ(told.bytes, numbered(500));
    EXPECT_EQ(::fcntl(told.file, F_GET_SEALS), all_seals);
    EXPECT_EQ(sealing.seal().file, told.file);
    EXPECT_EQ(memfds(), 1);
}

TEST(SealedBody, IsACopyOfABodyInMemory) {
    Sealing sealing;
    sealing.take("short");
    const Sealing::Told told = sealing.seal();
    EXPECT_EQ(told.bytes, "short");
    EXPECT_EQ(::fcntl(told.file, F_GET_SEALS), all_seals);
    EXPECT_EQ(sealing.body.bytes(), "short");
    EXPECT_TRUE(sealing.body.is_in_memory());
}

TEST(SealedBody, MayBeEmpty) {
    Sealing sealing;
    const Sealing::Told told = sealing.seal();
    EXPECT_EQ(told.error, 0);
    EXPECT_GE(told.file, 0);
    EXPECT_EQ(told.bytes, "");
}

TEST(SealedBody, IsThereAtOnceWhenItWasMadeBefore) {
    Sealing sealing;
    sealing.use_memory();
    sealing.take(numbered(500));
    const int file = sealing.seal().file;
    sealing.told.reset();
    sealing.body.seal(sealing.store, sealing.note_seal());
    ASSERT_TRUE(sealing.told);
    EXPECT_EQ(sealing.told->file, file);
}

TEST(SealedBody, IsMadeOnceForAllCallersThatAskMeanwhile) {
    Sealing sealing;
    sealing.take(numbered(500));
    std::vector<int> files;
    for (int i = 0; i < 3; ++i)
        sealing.body.seal(sealing.store, [&](int file, int) { files.push_back(file); });
    EXPECT_TRUE(files.empty());
    sealing.settle();
    ASSERT_EQ(files.size(), 3U);
    EXPECT_EQ(files[0], files[1]);
    EXPECT_EQ(files[0], files[2]);
    EXPECT_EQ(memfds(), 1);
}

TEST(SealedBody, CanStillBeRead) {
    for (const bool in_memory : {true, false}) {
        Sealing sealing;
        if (in_memory) sealing.use_memory();
        sealing.take(numbered(500));
        sealing.seal();
        EXPECT_EQ(sealing.read_back(), numbered(500));
        EXPECT_EQ(sealing.body.reader(10)(), numbered(10));
    }
}

TEST(SealedBody, ReachesTheCallerEvenIfTheBodyIsDroppedMeanwhile) {
    Sealing sealing;
    sealing.take(numbered(500));
    sealing.body.seal(sealing.store, sealing.note_seal());
    sealing.body.clear();
    sealing.settle();
    ASSERT_TRUE(sealing.told);
    EXPECT_EQ(sealing.told->bytes, numbered(500));
    EXPECT_EQ(memfds(), 0) << "nobody keeps it";
}

TEST(SealedBody, IsNotThatOfAnEarlierBody) {
    Sealing sealing;
    sealing.use_memory();
    sealing.take(numbered(500));
    sealing.body.seal(sealing.store, [](int, int) {});
    sealing.body.clear();
    sealing.take("another " + numbered(300));
    EXPECT_EQ(sealing.seal().bytes, "another " + numbered(300));
    EXPECT_EQ(memfds(), 1);
}

TEST(SealedBody, TellsThatThereIsNoRoomAndCanBeAskedForAgain) {
    Sealing sealing;
    sealing.take(numbered(500));
    {
        const FileSizeLimit limit(200);
        const Sealing::Told told = sealing.seal();
        EXPECT_EQ(told.error, EFBIG);
        EXPECT_EQ(told.file, -1);
        EXPECT_EQ(memfds(), 0) << "half of it is of no use";
    }
    EXPECT_EQ(sealing.seal().bytes, numbered(500));
}

TEST(SealedBody, TellsThatNoFileCanBeMade) {
    Sealing sealing;
    sealing.take("short");
    Sealing::Told told;
    {
        const Limit none(RLIMIT_NOFILE, 0);
        told = sealing.seal();
    }
    EXPECT_EQ(told.error, EMFILE);
    EXPECT_EQ(told.file, -1);
}

TEST(Body, InMemoryOfTheKernelNeedsNoFolder) {
    Sealing sealing;
    sealing.use_memory();
    sealing.take(numbered(997));
    EXPECT_FALSE(sealing.body.is_in_memory()) << "it is not our own memory";
    EXPECT_EQ(sealing.read_back(), numbered(997));
    EXPECT_EQ(open_files(sealing.folder.file("")), 0);
}

TEST(Body, TellsThatTheKernelsMemoryTakesNoMore) {
    Sealing sealing;
    sealing.use_memory();
    ASSERT_EQ(sealing.append(numbered(150)), 0);
    const FileSizeLimit limit(200);
    EXPECT_EQ(sealing.append(numbered(150)), EFBIG);
}

}  // namespace
}  // namespace turnpike
