// The input of a connection: one piece of memory that moves, grows and shrinks, but never beyond
// its bounds.
#include "http/input_buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>

namespace turnpike::http {
namespace {

constexpr InputBuffer::Sizes fixed{.if_empty = 8, .most = 0};
constexpr InputBuffer::Sizes growing{.if_empty = 8, .most = 20};

void put(InputBuffer& buffer, std::string_view bytes, const InputBuffer::Sizes& sizes = fixed) {
    const std::span<char> room = buffer.room(sizes);
    ASSERT_GE(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), bytes.size());
    buffer.came(bytes.size());
}

TEST(InputBuffer, HoldsWhatCameUntilItIsTaken) {
    InputBuffer buffer;
    EXPECT_TRUE(buffer.empty());
    put(buffer, "abc");
    put(buffer, "de");
    EXPECT_EQ(buffer.bytes(), "abcde");
    buffer.take(2);
    EXPECT_EQ(buffer.bytes(), "cde");
    buffer.take(3);
    EXPECT_TRUE(buffer.empty());
}

TEST(InputBuffer, HasNoRoomWhenItIsFull) {
    InputBuffer buffer;
    put(buffer, "12345678");
    EXPECT_TRUE(buffer.is_filled());
    EXPECT_TRUE(buffer.room(fixed).empty());
    EXPECT_EQ(buffer.bytes(), "12345678");
}

TEST(InputBuffer, LeavesItsBytesInPlaceWhileThereIsRoomBehindThem) {
    InputBuffer buffer;
    put(buffer, "1234567");
    buffer.take(5);
    const char* const before = buffer.bytes().data();
    EXPECT_EQ(buffer.room(fixed).size(), 1U);
    EXPECT_EQ(buffer.bytes().data(), before);
}

TEST(InputBuffer, MovesItsBytesToTheFrontWhenThereIsNoRoomBehindThem) {
    InputBuffer buffer;
    put(buffer, "12345678");
    buffer.take(6);
    EXPECT_EQ(buffer.room(growing).size(), 6U) << "it need not grow";
    EXPECT_EQ(buffer.bytes(), "78");
    put(buffer, "abcdef");
    EXPECT_EQ(buffer.bytes(), "78abcdef");
}

TEST(InputBuffer, GrowsTwofoldUpToItsBound) {
    InputBuffer buffer;
    put(buffer, "12345678", growing);
    EXPECT_EQ(buffer.room(growing).size(), 8U);
    put(buffer, "abcdefgh", growing);
    EXPECT_EQ(buffer.room(growing).size(), 4U);
    put(buffer, "wxyz", growing);
    EXPECT_TRUE(buffer.room(growing).empty());
    EXPECT_EQ(buffer.bytes(), "12345678abcdefghwxyz");
}

TEST(InputBuffer, TakesTheNamedSizeWhenItIsEmpty) {
    InputBuffer buffer;
    put(buffer, "12345678");
    buffer.take(7);
    EXPECT_EQ(buffer.room({.if_empty = 16, .most = 0}).size(), 7U) << "it is not empty";
    buffer.take_all();
    EXPECT_EQ(buffer.room({.if_empty = 16, .most = 0}).size(), 16U);
    EXPECT_EQ(buffer.room({.if_empty = 4, .most = 0}).size(), 4U);
}

TEST(InputBuffer, DropsItsBytesAndKeepsAsMuchMemoryAsItsOwnerSays) {
    InputBuffer buffer;
    put(buffer, "1234");
    const char* const memory = buffer.bytes().data();
    buffer.clear(8);
    EXPECT_TRUE(buffer.empty());
    EXPECT_EQ(buffer.room(fixed).data(), memory);
    buffer.clear(7);
    EXPECT_EQ(buffer.room(fixed).size(), 8U);
}

}  // namespace
}  // namespace turnpike::http
