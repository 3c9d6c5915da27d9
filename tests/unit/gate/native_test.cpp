// What is different for jobs of native workers: where their bodies are kept, and how answers in
// files are read.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/unit/gate/gate_fixture.h"

namespace turnpike {
namespace {

PoolConfig native(std::string name) {
    return {.name = std::move(name),
            .worker = {.model = {.kind = ModelChoice::Kind::python, .path = "/model.py"}}};
}

std::string post(std::string_view body, std::string_view fields = {}) {
    return "POST /predict HTTP/1.1\r\nHost: localhost\r\n" + std::string(fields) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

int spool_files(const GateFixture& fixture) {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const std::string target = std::filesystem::read_symlink(entry.path(), gone);
        if (target.starts_with(fixture.folder.file(""))) ++found;
    }
    return found;
}

UniqueFd file_with(std::string_view bytes) {
    UniqueFd file(::memfd_create("turnpike-test", MFD_CLOEXEC));
    EXPECT_EQ(::pwrite(file.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    return file;
}

/// Returns text in which each part differs from its neighbours.
std::string long_text(std::size_t size) {
    std::string text;
    for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i) + " ";
    text.resize(size);
    return text;
}

TEST(NativeJob, HasItsLargeBodyInMemoryThatItsWorkerCanGet) {
    GateFixture fixture(Config{.pools = {native("only")}});
    const std::string body = long_text(3'000'000);
    fixture.ask(post(body));
    const ExchangePtr exchange = fixture.queued();
    EXPECT_FALSE(exchange->body.is_in_memory());
    EXPECT_EQ(spool_files(fixture), 0);
    std::string got(body.size(), '\0');
    int seals = 0;
    bool is_told = false;
    exchange->body.seal(fixture.store, [&](int file, int error) {
        EXPECT_EQ(error, 0);
        seals = ::fcntl(file, F_GET_SEALS);
        EXPECT_EQ(::pread(file, got.data(), got.size(), 0), static_cast<ssize_t>(got.size()));
        is_told = true;
    });
    EXPECT_TRUE(fixture.loop.run_until([&] { return is_told; }));
    EXPECT_NE(seals & F_SEAL_WRITE, 0);
    EXPECT_EQ(got == body, true);
}

TEST(NativeJob, HasASmallBodyInPlace) {
    GateFixture fixture(Config{.pools = {native("only")}});
    fixture.ask(post("input"));
    EXPECT_EQ(fixture.queued()->body.bytes(), "input");
}

TEST(NativeJob, IsRecognizedByItsPool) {
    GateFixture fixture(Config{.pools = {native("native"), PoolConfig{.name = "http"}}});
    const std::string body(3'000'000, 'b');
    fixture.ask(post(body, "Turnpike-Pool: http\r\n"));
    fixture.queued();
    EXPECT_EQ(spool_files(fixture), 1);
    fixture.ask(post(body, "Turnpike-Pool: native\r\n"));
    fixture.queued();
    EXPECT_EQ(spool_files(fixture), 1);
}

TEST(NativeJob, KnowsItsName) {
    GateFixture fixture(Config{.pools = {native("only")}});
    Client& client = fixture.ask(post("input"));
    const std::string name = fixture.queued()->name;
    EXPECT_FALSE(name.empty());
    fixture.taken = 0;
    fixture.answer("output");
    fixture.hear(client, "Turnpike-Job: " + name + "\r\n");
}

struct FileAnswer : GateFixture {
    explicit FileAnswer(std::string_view body, EndReason reason = EndReason::answered)
        : GateFixture(Config{.pools = {native("only")}}), client(connect()) {
        client.say(post("input"));
        exchange = queued();
        exchange->answer.start(&writer) = {
            .status = 200, .fields = {}, .has_length = true, .length = body.size()};
        exchange->answer.hold();
        exchange->answer.adopt(file_with(body), body.size());
        exchange->answer.complete();
        end(job, reason);
    }

    Client& client;
    ExchangePtr exchange;
};

TEST(NativeJob, GetsAnAnswerFromAFile) {
    const std::string body = long_text(5'000'000);
    FileAnswer answer(body);
    EXPECT_TRUE(answer.client.got.empty());
    answer.client.listen();
    answer.hear(answer.client, "Content-Length: 5000000\r\n");
    answer.hear(answer.client, body.substr(body.size() - 100));
    EXPECT_EQ(answer.client.got.ends_with("\r\n\r\n" + body), true);
    answer.client.say(post("next"));
    answer.answer("after it");
    answer.hear(answer.client, "after it");
}

TEST(NativeJob, DropsItsBodyWhileTheAnswerIsRead) {
    for (const EndReason reason :
         {EndReason::answered, EndReason::bad_input, EndReason::model_failed, EndReason::non_finite,
          EndReason::out_of_memory}) {
        FileAnswer answer(std::string(5'000'000, 'x'), reason);  // more than a socket buffers
        EXPECT_EQ(answer.exchange->body.size(), 0U) << name_of(reason);
        EXPECT_NE(answer.exchange->body.bytes(), "input") << name_of(reason);
    }
}

TEST(NativeJob, KeepsItsBodyWhileTheWorkerMayStillReceiveIt) {
    for (const EndReason reason : {EndReason::ran_too_long, EndReason::deadline_passed,
                                   EndReason::cancel_asked, EndReason::worker_died}) {
        GateFixture fixture(Config{.pools = {native("only")}});
        fixture.ask(post("input"));
        const ExchangePtr exchange = fixture.queued();
        fixture.end(fixture.job, reason);
        EXPECT_EQ(exchange->body.bytes(), "input") << name_of(reason);
    }
}

TEST(NativeJob, GetsTheFileInChunksIfItsAnswerFlows) {
    GateFixture fixture(Config{.pools = {native("only")}});
    Client& client = fixture.ask(post("input"));
    const ExchangePtr exchange = fixture.queued();
    exchange->answer.start(&fixture.writer).status = 200;
    exchange->answer.flow();
    exchange->answer.adopt(file_with("from a file"), 11);
    exchange->answer.complete();
    fixture.end(fixture.job, EndReason::answered);
    fixture.hear(client, "\r\n\r\nb\r\nfrom a file\r\n0\r\n\r\n");
}

TEST(NativeJob, EndsWhenItsClientLeavesInTheMiddleOfAFile) {
    FileAnswer answer(std::string(50'000'000, 'x'));
    answer.client.leave();
    EXPECT_TRUE(answer.loop.run_until([&] { return answer.gate.connections() == 0; }));
    EXPECT_EQ(answer.exchanges.find(answer.job), nullptr);
}

}  // namespace
}  // namespace turnpike
