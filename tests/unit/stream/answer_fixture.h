// An answer, with a writer and a reader that record what they are told.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "stream/answer.h"
#include "tests/unit/stream/disk.h"

namespace turnpike {

struct RecordingReader final : AnswerReader {
    int told = 0;
    std::string got;
    void answer_moved() override { ++told; }
};

struct RecordingWriter final : AnswerWriter {
    int told = 0;
    void answer_has_room() override { ++told; }
};

struct AnswerFixture : Disk {
    AnswerAccount account{loop.wakeups()};
    std::unique_ptr<Answer> answer = std::make_unique<Answer>(loop.wakeups(), account);
    RecordingReader reader;
    RecordingWriter writer;

    void begin_flow() {
        answer->set_reader(&reader);
        AnswerHead& head = answer->start(&writer);
        head.status = 200;
        answer->flow();
        loop.turn();
    }
    Answer::Room append(std::string_view bytes) {
        const Answer::Room room = answer->append(store, bytes);
        loop.turn();
        return room;
    }
    void complete() {
        answer->complete();
        loop.turn();
    }
    void break_off() {
        answer->break_off();
        loop.turn();
    }
    void abandon() {
        answer->abandon();
        loop.turn();
    }

    /// Appends `size` more bytes of a long text, and adds them to `sent`. So `sent` always equals
    /// numbered(sent.size()).
    Answer::Room append_as_sent(std::string& sent, std::size_t size) {
        static const std::string text = numbered(10'000);
        const std::size_t before = sent.size();
        sent.append(text, before, size);
        return append(std::string_view(sent).substr(before));
    }
    /// Reads what is there, but at most `size` bytes.
    void read(std::size_t size) {
        const std::string_view piece = answer->front().substr(0, size);
        reader.got += piece;
        if (!piece.empty()) answer->consume(store, piece.size());
        loop.turn();
    }
    /// Reads everything, also what is on disk. The writer must be done.
    void read_all() {
        EXPECT_TRUE(loop.run_until([&] {
            while (!answer->front().empty()) read(1000);
            answer->want(store);
            return answer->is_drained();
        }));
    }
};

}  // namespace turnpike
