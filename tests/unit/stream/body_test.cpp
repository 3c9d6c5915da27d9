#include "stream/body.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "tests/unit/stream/upload.h"

namespace turnpike {
namespace {

TEST(Body, StaysInMemoryUpToTheLimit) {
    Upload upload;
    const std::string bytes = numbered(100);
    EXPECT_EQ(upload.body.append(upload.store, bytes.substr(0, 60), upload.record_result()),
              Body::Taken::all);
    EXPECT_EQ(upload.body.append(upload.store, bytes.substr(60), upload.record_result()),
              Body::Taken::all);
    EXPECT_EQ(upload.body.complete(upload.store, upload.record_result()), Body::Taken::all);
    upload.settle();
    EXPECT_TRUE(upload.body.is_in_memory());
    EXPECT_EQ(upload.body.size(), 100U);
    EXPECT_EQ(upload.body.bytes(), bytes);
    EXPECT_FALSE(upload.resumed) << "nobody waited";
}

TEST(Body, GoesToDiskWithTheFirstByteBeyondTheLimit) {
    Upload upload;
    const std::string bytes = numbered(101);
    EXPECT_EQ(upload.append(bytes.substr(0, 100)), 0);
    EXPECT_TRUE(upload.body.is_in_memory());
    EXPECT_EQ(upload.body.append(upload.store, bytes.substr(100), upload.record_result()),
              Body::Taken::wait);
    EXPECT_TRUE(upload.has_resumed());
    EXPECT_EQ(upload.resumed, 0);
    EXPECT_FALSE(upload.body.is_in_memory());
    EXPECT_EQ(upload.complete(), 0);
    EXPECT_EQ(upload.body.size(), 101U);
    EXPECT_EQ(upload.read_back(), bytes);
}

TEST(Body, IsReadBackPieceByPieceAsOftenAsWanted) {
    Upload upload;
    const std::string bytes = numbered(997);
    for (std::size_t at = 0; at < bytes.size(); at += 37)
        ASSERT_EQ(upload.append(bytes.substr(at, 37)), 0);
    ASSERT_EQ(upload.complete(), 0);
    EXPECT_EQ(upload.read_back(), bytes);
    EXPECT_EQ(upload.read_back(), bytes);
}

TEST(Body, WritesWhatIsLeftInMemoryWhenItIsComplete) {
    Upload upload;
    ASSERT_EQ(upload.append(numbered(150)), 0);
    ASSERT_EQ(upload.append("the end"), 0);
    EXPECT_EQ(upload.body.complete(upload.store, upload.record_result()), Body::Taken::wait);
    ASSERT_TRUE(upload.has_resumed());
    EXPECT_EQ(upload.read_back(), numbered(150) + "the end");
}

TEST(Body, OnDiskIsReadyAtOnceIfNothingIsLeftInMemory) {
    Upload upload;
    ASSERT_EQ(upload.append(numbered(150)), 0);
    EXPECT_EQ(upload.body.complete(upload.store, upload.record_result()), Body::Taken::all);
}

TEST(Body, TellsWhyTheDiskRefuses) {
    Upload upload;
    upload.remove_folder();
    EXPECT_EQ(upload.append(numbered(101)), ENOENT);
}

TEST(Body, TellsThatTheDiskTakesNoMore) {
    Upload upload;
    ASSERT_EQ(upload.append(numbered(150)), 0);
    const FileSizeLimit limit(200);
    EXPECT_EQ(upload.append(numbered(150)), EFBIG);
}

TEST(Body, LeavesNoNameInItsFolder) {
    Upload upload;
    ASSERT_EQ(upload.append(numbered(500)), 0);
    EXPECT_TRUE(std::filesystem::is_empty(upload.folder.file("")));
}

TEST(Body, CanBeDroppedWhileTheDiskWorksForIt) {
    Upload upload;
    {
        Body dropped;
        EXPECT_EQ(dropped.append(upload.store, numbered(500), upload.record_result()),
                  Body::Taken::wait);
    }
    EXPECT_TRUE(upload.has_resumed());
    EXPECT_EQ(upload.resumed, 0);
}

TEST(Body, IsAsNewWhenCleared) {
    Upload upload;
    ASSERT_EQ(upload.append(numbered(500)), 0);
    upload.body.clear();
    EXPECT_EQ(upload.body.size(), 0U);
    EXPECT_TRUE(upload.body.is_in_memory());
    ASSERT_EQ(upload.append("short"), 0);
    EXPECT_EQ(upload.body.bytes(), "short");
    ASSERT_EQ(upload.append(numbered(300)), 0);
    EXPECT_EQ(upload.complete(), 0);
    EXPECT_EQ(upload.read_back(), "short" + numbered(300));
}

/// True if the text is inside the object itself: a short string needs no memory of its own.
bool is_inside(const char* text, const Body& body) {
    const auto* const begin = reinterpret_cast<const char*>(&body);
    return std::less_equal<>()(begin, text) && std::less<>()(text, begin + sizeof body);
}

TEST(Body, KeepsOnlyALittleMemoryWhenCleared) {
    Upload upload;
    upload.store.memory_max = 10'000'000;
    const std::string small(1000, 's');
    ASSERT_EQ(upload.append(small), 0);
    const char* const place = upload.body.bytes().data();
    upload.body.clear();
    ASSERT_EQ(upload.append(small), 0);
    EXPECT_EQ(upload.body.bytes().data(), place) << "a little is kept";
    ASSERT_EQ(upload.append(std::string(1'000'000, 'l')), 0);
    upload.body.clear();
    EXPECT_TRUE(is_inside(upload.body.bytes().data(), upload.body)) << "a lot is not";
}

/// Reads the whole body through piece_reader(), on the disk thread. Nullopt if the disk failed.
std::optional<std::string> in_pieces(Upload& upload,
                                     std::function<int(const Body::TakePiece&)> read) {
    std::optional<std::optional<std::string>> result;
    upload.background.run(
        [read = std::move(read), step = upload.store.step]() -> std::optional<std::string> {
            std::string all;
            const int error = read([&](std::string_view piece) {
                EXPECT_LE(piece.size(), step);
                all.append(piece);
            });
            return error == 0 ? std::optional(all) : std::nullopt;
        },
        [&](std::optional<std::string> all) { result = std::move(all); });
    EXPECT_TRUE(upload.loop.run_until([&] { return result.has_value(); }));
    return result.value_or(std::nullopt);
}

TEST(Body, IsReadInPiecesEvenAfterItWasDropped) {
    for (const std::size_t size : {0U, 1U, 30U, 60U, 100U, 101U, 997U}) {
        Upload upload;
        const std::string bytes = numbered(size);
        ASSERT_EQ(upload.append(bytes), 0);
        ASSERT_EQ(upload.complete(), 0);
        auto read = upload.body.piece_reader(upload.store.step);
        upload.body.clear();
        ASSERT_EQ(upload.append("the body of the next job"), 0);
        EXPECT_EQ(in_pieces(upload, std::move(read)), bytes);
    }
}

TEST(Body, WhosePiecesCanNotBeReadSaysSo) {
    Upload upload;
    ASSERT_EQ(upload.append(numbered(997)), 0);
    ASSERT_EQ(upload.complete(), 0);
    truncate_open_files(upload.folder.file(""));
    EXPECT_EQ(in_pieces(upload, upload.body.piece_reader(upload.store.step)), std::nullopt);
}

}  // namespace
}  // namespace turnpike
