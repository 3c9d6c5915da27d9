#include "supervisor/native/frame_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/stream/disk.h"
#include "tests/unit/supervisor/native/native_peer.h"
#include "tests/unit/virtual_time.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using wire::Breach;

/// A link; records what its user heard: the texts of log frames, the sizes of chunks, "done".
struct Wired final : FrameLinkUser {
    TestLoop loop;
    VirtualTime time;
    NativePeer peer{loop};
    std::unique_ptr<FrameLink> link =
        std::make_unique<FrameLink>(loop.context(), loop.wakeups(), time, *this);
    std::vector<std::string> texts;
    int breaks = 0;
    Breach breach = Breach::none;
    int kind = 0;
    std::function<void()> act = [] {};  // called in heard()

    Wired() { link->open(std::move(peer.gate)); }
    ~Wired() {
        link.reset();
        loop.poll();  // the callbacks of a link that is gone
    }

    bool heard(const wire::WorkerFrame& frame) override {
        if (const auto* log = std::get_if<wire::Log>(&frame)) texts.emplace_back(log->text);
        if (const auto* chunk = std::get_if<wire::Chunk>(&frame))
            texts.push_back(std::to_string(chunk->bytes.size()));
        if (std::holds_alternative<wire::Done>(frame)) texts.emplace_back("done");
        act();
        return true;
    }
    void link_broke(Breach why, std::uint8_t of) override {
        ++breaks;
        breach = why;
        kind = of;
    }

    void wait_for_texts(std::size_t count) {
        EXPECT_TRUE(loop.run_until([&] { return texts.size() >= count; }));
    }
    void wait_for_break() {
        EXPECT_TRUE(loop.run_until([&] { return breaks > 0; }));
        EXPECT_FALSE(link->is_open());
        loop.poll();
        EXPECT_EQ(breaks, 1) << "told once";
        while (!peer.is_over && !peer.take(65536).empty()) {
        }
        EXPECT_TRUE(peer.is_over);
    }
    /// More bytes than the socket takes while nobody reads.
    std::string stuff() {
        std::string bytes = numbered(4 << 20);
        link->send(bytes);
        return bytes;
    }
};

std::string log_frame(std::string_view text) { return bytes_of(wire::Log{.text = text}); }

/// Returns a file that lives as long as somebody holds the attachment.
FrameLink::Attachment owned(UniqueFd file) {
    const auto owner = std::make_shared<UniqueFd>(std::move(file));
    return {.file = owner->get(), .owner = owner};
}

std::string done_by_descriptor(std::uint64_t size) {
    return bytes_of(wire::Done{
        .id = 1, .status = 200, .body = {.in_descriptor = size, .is_in_descriptor = true}});
}

/// Does not count the test's own descriptors.
int memfds() { return open_files("/memfd:native-test"); }

// ── in ───────────────────────────────────────────────────────────────────────────────────────────

TEST(FrameLink, HearsAllFramesOfOneWrite) {
    Wired wired;
    wired.peer.say(log_frame("one") + log_frame("two") + log_frame("three"));
    wired.wait_for_texts(3);
    EXPECT_THAT(wired.texts, ElementsAre("one", "two", "three"));
}

TEST(FrameLink, HearsAFrameThatComesByteByByte) {
    Wired wired;
    const std::string frame = log_frame("slow");
    for (const char byte : frame) {
        EXPECT_THAT(wired.texts, IsEmpty()) << "before its last byte";
        wired.peer.say({&byte, 1});
        wired.loop.poll();
    }
    EXPECT_THAT(wired.texts, ElementsAre("slow"));
}

TEST(FrameLink, HearsAFrameThatIsLargerThanOneRead) {
    Wired wired;
    const std::string bytes = numbered(wire::inline_max);
    wired.peer.say(bytes_of(wire::Chunk{.id = 1, .bytes = bytes}) + log_frame("after"));
    wired.wait_for_texts(2);
    EXPECT_THAT(wired.texts, ElementsAre("1048576", "after"));
}

TEST(FrameLink, TellsThatThePeerClosedItsEndAfterAllThatItSaid) {
    Wired wired;
    wired.peer.say(log_frame("last words"));
    wired.peer.own.reset();
    wired.peer.is_over = true;
    wired.wait_for_break();
    EXPECT_EQ(wired.breach, Breach::none);
    EXPECT_THAT(wired.texts, ElementsAre("last words"));
}

TEST(FrameLink, TellsThatThePeerClosedItsEndWithinAFrame) {
    Wired wired;
    wired.peer.say(log_frame("half").substr(0, 18));
    wired.peer.own.reset();
    wired.peer.is_over = true;
    wired.wait_for_break();
    EXPECT_EQ(wired.breach, Breach::none);
    EXPECT_THAT(wired.texts, IsEmpty());
}

TEST(FrameLink, ClosesWhenThePeerBreaksTheProtocol) {
    Wired wired;
    std::string bad = log_frame("bad");
    bad[4] = 0x7F;
    wired.peer.say(log_frame("good") + bad + log_frame("never heard"));
    wired.wait_for_break();
    EXPECT_EQ(wired.breach, Breach::kind_unknown);
    EXPECT_EQ(wired.kind, 0x7F);
    EXPECT_THAT(wired.texts, ElementsAre("good"));
}

TEST(FrameLink, MayBeClosedByTheUserThatGetsAFrame) {
    Wired wired;
    wired.act = [&] { wired.link->close(); };
    wired.peer.say(log_frame("one") + log_frame("two"));
    wired.wait_for_texts(1);
    wired.loop.poll();
    EXPECT_THAT(wired.texts, ElementsAre("one"));
    EXPECT_EQ(wired.breaks, 0) << "who closes it knows";
    wired.peer.take(1);
    EXPECT_TRUE(wired.peer.is_over);
}

TEST(FrameLink, MayBeBrokenOffByTheUserThatGetsAFrame) {
    Wired wired;
    wired.act = [&] { wired.link->break_off(Breach::hello_missing); };
    wired.peer.say(log_frame("one") + log_frame("two"));
    wired.wait_for_break();
    EXPECT_EQ(wired.breach, Breach::hello_missing);
    EXPECT_EQ(wired.kind, 0x8A);
    EXPECT_THAT(wired.texts, ElementsAre("one"));
}

// ── descriptors in ───────────────────────────────────────────────────────────────────────────────

TEST(FrameLink, GivesTheDescriptorToTheUserThatGetsItsFrame) {
    Wired wired;
    std::vector<std::string> found;
    wired.act = [&] {
        if (const UniqueFd file = wired.link->take_descriptor().value())
            found.push_back(text_of(file));
    };
    const UniqueFd one = make_memfd("1");
    const UniqueFd two = make_memfd("2");
    wired.peer.say(log_frame("x"));
    wired.peer.say(done_by_descriptor(1), {one.get()});
    wired.peer.say(done_by_descriptor(1), {two.get()});
    wired.wait_for_texts(3);
    EXPECT_THAT(found, ElementsAre("1", "2"));
    EXPECT_EQ(wired.breaks, 0);
}

TEST(FrameLink, TakesADescriptorThatComesWithAnyByteOfItsFrame) {
    const std::string frame = done_by_descriptor(1);
    for (const std::size_t at : {std::size_t{1}, wire::header_size, frame.size() - 1}) {
        Wired wired;
        std::string found;
        wired.act = [&] {
            if (wired.texts.back() == "done")
                found = text_of(wired.link->take_descriptor().value());
        };
        const UniqueFd file = make_memfd("!");
        wired.peer.say(frame.substr(0, at));
        wired.loop.poll();
        wired.peer.say(frame.substr(at, 1), {file.get()});
        wired.loop.poll();
        wired.peer.say(frame.substr(at + 1) + log_frame("next"));
        wired.wait_for_texts(2);
        EXPECT_EQ(found, "!") << at;
        EXPECT_EQ(wired.breaks, 0);
    }
}

TEST(FrameLink, HasNoDescriptorIfNoneCame) {
    Wired wired;
    wired.act = [&] { EXPECT_FALSE(wired.link->take_descriptor().value()); };
    wired.peer.say(done_by_descriptor(1));
    wired.wait_for_texts(1);
    EXPECT_EQ(wired.breaks, 0) << "that is its user's to judge";
}

TEST(FrameLink, ClosesWhenADescriptorComesThatNoFrameNeeds) {
    const int before = memfds();
    Wired wired;
    {
        const UniqueFd file = make_memfd("x");
        wired.peer.say(log_frame("x"), {file.get()});
    }
    wired.wait_for_break();
    EXPECT_EQ(wired.breach, Breach::descriptor_unannounced);
    EXPECT_TRUE(wired.loop.run_until([&] { return memfds() == before; })) << "it is closed";
}

TEST(FrameLink, ClosesWhenMoreDescriptorsComeThanAnybodyNeeds) {
    const int before = memfds();
    for (const std::vector<std::size_t>& counts :
         {std::vector<std::size_t>{17}, std::vector<std::size_t>{16, 1}, {100}}) {
        Wired wired;
        const std::string frame = log_frame("x");
        {
            const UniqueFd file = make_memfd("x");
            for (std::size_t i = 0; i < counts.size(); ++i)
                wired.peer.say(frame.substr(i, 1), std::vector<int>(counts[i], file.get()));
        }
        wired.wait_for_break();
        EXPECT_EQ(wired.breach, Breach::descriptor_unannounced);
        EXPECT_TRUE(wired.loop.run_until([&] { return memfds() == before; })) << "all are closed";
    }
}

// ── out ──────────────────────────────────────────────────────────────────────────────────────────

TEST(FrameLink, SendsAtOnceWhatThePeerTakes) {
    Wired wired;
    wired.link->send("one ", "two ");
    wired.link->send("three");
    EXPECT_EQ(wired.peer.take(100), "one two three");
    EXPECT_THAT(wired.peer.files, IsEmpty());
}

TEST(FrameLink, KeepsWhatThePeerDoesNotTakeAndSendsItLater) {
    Wired wired;
    const std::string bytes = wired.stuff();
    wired.link->send("after", " it");
    EXPECT_TRUE(wired.peer.take_all(bytes.size()) == bytes);
    EXPECT_EQ(wired.peer.take_all(8), "after it");
    wired.link->send("at once");
    EXPECT_EQ(wired.peer.take(100), "at once") << "nothing is kept any more";
}

TEST(FrameLink, LetsNothingOvertakeWhatItKeeps) {
    Wired wired;
    const std::string bytes = wired.stuff();
    std::string got;
    for (std::string more = wired.peer.take(65536); !more.empty(); more = wired.peer.take(65536))
        got += more;  // makes room in the socket, before the loop has turned
    ASSERT_LT(got.size(), bytes.size());
    wired.link->send("after");
    got += wired.peer.take_all(bytes.size() - got.size());
    EXPECT_TRUE(got == bytes);
    EXPECT_EQ(wired.peer.take_all(5), "after");
}

TEST(FrameLink, KeepsTheRestOfBothParts) {
    Wired wired;
    const std::string head = numbered(1000);
    const std::string body = numbered(4 << 20);
    wired.link->send(head, body);
    EXPECT_TRUE(wired.peer.take_all(head.size() + body.size()) == head + body);
}

TEST(FrameLink, HearsWhileItCannotSend) {
    Wired wired;
    wired.stuff();
    wired.peer.say(log_frame("I am busy"));
    wired.wait_for_texts(1);
    EXPECT_EQ(wired.breaks, 0);
}

TEST(FrameLink, SendsADescriptorWithTheFirstByte) {
    Wired wired;
    const UniqueFd file = make_memfd("content");
    wired.link->send("before");
    wired.link->send("frame", "body", {.file = file.get()});
    EXPECT_EQ(wired.peer.take(6), "before");
    EXPECT_THAT(wired.peer.files, IsEmpty());
    EXPECT_EQ(wired.peer.take(1), "f");
    ASSERT_EQ(wired.peer.files.size(), 1U);
    EXPECT_EQ(text_of(wired.peer.files[0]), "content");
    EXPECT_EQ(wired.peer.take_all(8), "ramebody");
    EXPECT_EQ(wired.peer.files.size(), 1U);
}

TEST(FrameLink, SendsAKeptDescriptorWithTheFirstByteThoughItsOwnerClosedIt) {
    Wired wired;
    const std::string bytes = wired.stuff();
    wired.link->send("frame", {}, owned(make_memfd("content")));
    wired.peer.take_all(bytes.size());
    EXPECT_THAT(wired.peer.files, IsEmpty());
    EXPECT_EQ(wired.peer.take_all(1), "f");
    ASSERT_EQ(wired.peer.files.size(), 1U);
    EXPECT_EQ(text_of(wired.peer.files[0]), "content");
    EXPECT_EQ(wired.peer.take_all(4), "rame");
}

TEST(FrameLink, SendsADescriptorOnceThoughItsFrameGoesInPieces) {
    for (const bool is_kept : {false, true}) {
        Wired wired;
        const std::string before = is_kept ? wired.stuff() : "";
        const std::string frame = numbered(4 << 20);
        wired.link->send(frame, {}, owned(make_memfd("content")));
        EXPECT_TRUE(wired.peer.take_all(before.size()) == before);
        EXPECT_TRUE(wired.peer.take_all(frame.size()) == frame);
        EXPECT_EQ(wired.peer.files.size(), 1U);
    }
}

TEST(FrameLink, NeedsNoFurtherDescriptorToKeepAFile) {
    Wired wired;
    const std::string bytes = wired.stuff();
    {
        FrameLink::Attachment file = owned(make_memfd("content"));
        const Limit limit(RLIMIT_NOFILE, 0);
        wired.link->send("frame", {}, std::move(file));
    }
    wired.peer.take_all(bytes.size());
    EXPECT_EQ(wired.peer.take_all(5), "frame");
    EXPECT_EQ(wired.peer.files.size(), 1U);
    EXPECT_EQ(wired.breaks, 0);
}

TEST(FrameLink, TellsADescriptorForWhichThereWasNoRoomFromOneThatWasNotSent) {
    Wired wired;
    bool was_lost = false;
    wired.act = [&] { was_lost = !wired.link->take_descriptor().has_value(); };
    const UniqueFd file = make_memfd("content");
    wired.peer.say(done_by_descriptor(1), {file.get()});
    {
        const Limit limit(RLIMIT_NOFILE, 0);
        wired.wait_for_texts(1);
    }
    EXPECT_TRUE(was_lost);
    EXPECT_EQ(wired.breaks, 0) << "it is not the worker's fault";
}

TEST(FrameLink, SendsNothingToAPeerThatIsGone) {
    Wired wired;
    wired.stuff();
    wired.peer.own.reset();
    wired.peer.is_over = true;
    wired.link->send("nobody hears it");
    wired.wait_for_break();
    wired.link->send("nor this");
    EXPECT_EQ(wired.breach, Breach::none);
}

TEST(FrameLink, HearsThePeersLastWordsAfterSendingFailed) {
    Wired wired;
    wired.peer.say(log_frame("goodbye"));
    wired.peer.own.reset();
    wired.peer.is_over = true;
    wired.link->send("it is gone");
    wired.wait_for_break();
    EXPECT_THAT(wired.texts, ElementsAre("goodbye"));
}

TEST(FrameLink, DropsWhatItKeptWhenItIsClosed) {
    const int before = memfds();
    Wired wired;
    wired.stuff();
    wired.link->send("frame", {}, owned(make_memfd("content")));
    wired.link->close();
    EXPECT_EQ(memfds(), before);
    EXPECT_EQ(wired.breaks, 0);
    EXPECT_FALSE(wired.link->is_open());
}

// ── the end ──────────────────────────────────────────────────────────────────────────────────────

TEST(FrameLink, IsNotHeardOfOnceItIsDestroyed) {
    Wired wired;
    wired.stuff();
    wired.loop.poll();  // now it waits for both directions
    wired.peer.say(log_frame("too late"));
    wired.link.reset();
    while (!wired.peer.is_over && !wired.peer.take(65536).empty()) {
    }
    wired.loop.poll();
    EXPECT_TRUE(wired.peer.is_over) << "its socket is closed with it";
    EXPECT_THAT(wired.texts, IsEmpty());
    EXPECT_EQ(wired.breaks, 0);
}

TEST(FrameLink, IsNotHeardOfIfItIsDestroyedWhenItsCallbackIsDue) {
    Wired wired;
    bool is_destroyed = false;
    boost::asio::post(wired.loop.context(), [&] {
        // The loop has seen that both sockets are ready, and has not called anybody yet.
        wired.link.reset();
        is_destroyed = true;
    });
    wired.peer.say(log_frame("too late"));
    wired.loop.poll();
    EXPECT_TRUE(is_destroyed);
    EXPECT_THAT(wired.texts, IsEmpty());
}

}  // namespace
}  // namespace turnpike
