#include "tests/unit/wire/vector_frame.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

namespace turnpike::wire::test {

namespace {

/// Reads the members of one description. Throws if a member is missing, and the test fails with its
/// name.
class Said {
public:
    Said(const boost::json::object& said, Storage& storage) : said_(said), storage_(storage) {}

    template <class Number = std::uint16_t>
    [[nodiscard]] Number number(std::string_view key) const {
        return said_.at(key).to_number<Number>();
    }
    [[nodiscard]] std::uint64_t id() const { return number<std::uint64_t>("id"); }
    template <class Choice>
    [[nodiscard]] Choice choice(std::string_view key) const {
        return static_cast<Choice>(number<std::uint8_t>(key));
    }
    [[nodiscard]] bool flag(std::string_view key) const { return said_.at(key).as_bool(); }
    [[nodiscard]] std::string_view text(std::string_view key) const {
        return said_.at(key).as_string();
    }
    [[nodiscard]] std::string_view bytes(std::string_view key) const {
        return storage_.emplace_back(bytes_of_hex(text(key)));
    }
    [[nodiscard]] BodyPart body() const {
        if (said_.contains("body_hex")) return {.bytes = bytes("body_hex")};
        return {.in_descriptor = number<std::uint64_t>("body_in_descriptor"),
                .is_in_descriptor = true};
    }

private:
    const boost::json::object& said_;
    Storage& storage_;
};

Welcome welcome_of(const Said& said) {
    return {.version = said.number("version"),
            .lane = said.number("lane"),
            .gpus = said.number("gpus"),
            .slots = said.number("slots"),
            .batch = said.number("batch"),
            .pool = said.text("pool")};
}

Job job_of(const Said& said) {
    return {.id = said.id(),
            .attempt = said.number("attempt"),
            .purpose = said.choice<Purpose>("purpose"),
            .batch_index = said.number("batch_index"),
            .batch_size = said.number("batch_size"),
            .name = said.text("name"),
            .method = said.text("method"),
            .target = said.text("target"),
            .fields = said.text("fields"),
            .body = said.body()};
}

Ready ready_of(const Said& said) {
    return {.slots = said.number("slots"),
            .batch = said.number("batch"),
            .has_example = said.flag("has_example"),
            .checks_proofs = said.flag("checks_proofs"),
            .example_type = said.text("example_type"),
            .example = said.bytes("example_hex"),
            .facts = said.text("facts")};
}

Hello hello_of(const Said& said) {
    return {.version_min = said.number("version_min"),
            .version_max = said.number("version_max"),
            .sdk = said.text("sdk")};
}

Loading loading_of(const Said& said) {
    return {.phase = said.choice<LoadPhase>("phase"),
            .permille = said.number("permille"),
            .text = said.text("text")};
}

Progress progress_of(const Said& said) {
    return {.id = said.id(), .permille = said.number("permille"), .text = said.text("text")};
}

Begin begin_of(const Said& said) {
    return {.id = said.id(), .status = said.number("status"), .fields = said.text("fields")};
}

Done done_of(const Said& said) {
    return {.id = said.id(),
            .status = said.number("status"),
            .fields = said.text("fields"),
            .body = said.body()};
}

Failed failed_of(const Said& said) {
    return {.id = said.id(),
            .why = said.choice<FailWhy>("why"),
            .type = said.text("type"),
            .message = said.text("message")};
}

Log log_of(const Said& said) {
    return {.level = said.choice<LogLevel>("level"), .text = said.text("text")};
}

}  // namespace

GateFrame gate_frame_of(const boost::json::object& object, Storage& storage) {
    const Said said(object, storage);
    const std::string_view kind = said.text("kind");
    if (kind == "welcome") return welcome_of(said);
    if (kind == "job") return job_of(said);
    if (kind == "cancel") return Cancel{.id = said.id()};
    if (kind == "ping") return Ping{.id = said.id()};
    if (kind == "stacks") return AskStacks{.id = said.id()};
    if (kind == "pause") return Pause{.id = said.id()};
    if (kind == "resume") return Resume{.id = said.id()};
    EXPECT_EQ(kind, "stop");
    return Stop{};
}

WorkerFrame worker_frame_of(const boost::json::object& object, Storage& storage) {
    const Said said(object, storage);
    const std::string_view kind = said.text("kind");
    if (kind == "hello") return hello_of(said);
    if (kind == "loading") return loading_of(said);
    if (kind == "ready") return ready_of(said);
    if (kind == "progress") return progress_of(said);
    if (kind == "begin") return begin_of(said);
    if (kind == "chunk") return Chunk{.id = said.id(), .bytes = said.bytes("bytes_hex")};
    if (kind == "done") return done_of(said);
    if (kind == "failed") return failed_of(said);
    if (kind == "pong") return Pong{.id = said.id()};
    if (kind == "log") return log_of(said);
    EXPECT_EQ(kind, "stacks");
    return Stacks{.id = said.id(), .text = said.text("text")};
}

std::string bytes_of_hex(std::string_view hex) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
    return bytes;
}

}  // namespace turnpike::wire::test
