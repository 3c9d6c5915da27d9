#include "telemetry/job_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <type_traits>

#include "telemetry/log_target.h"
#include "tests/unit/telemetry/samples.h"

namespace turnpike {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

static_assert(std::is_trivially_copyable_v<JobRecord>);
static_assert(std::is_trivially_copyable_v<JobStart>);

JobStart sample_start() {
    return {.id = Text<24>{"k3f9"},
            .pool = Text<64>{"default"},
            .lane = LaneId{2},
            .gpu = Text<48>{"3"},
            .at_unix_ns = ten_o_clock};
}

TEST(JobRecord, IsOneJsonObjectOnOneLine) {
    EXPECT_EQ(json_line(sample_job()),
              R"({"id":"k3f9","pool":"default","lane":0,"gpu":null,)"
              R"("arrived":"2026-11-15T10:00:00.123Z","queue_ms":0.1,"run_ms":12.3,"attempts":1,)"
              R"("status":200,"bytes_in":5,"bytes_out":7,"client":"127.0.0.1:5000",)"
              R"("method":"POST","path":"/predict","outcome":"finished","reason":"answered"})"
              "\n");
}

TEST(JobRecord, NamesTheGpuAndTheKeyIfThereAreAny) {
    JobRecord record = sample_job();
    record.gpu.assign("0,1");
    record.key.assign("alice");
    EXPECT_THAT(json_line(record), HasSubstr(R"("lane":0,"gpu":"0,1",)"));
    EXPECT_THAT(json_line(record), HasSubstr(R"("client":"127.0.0.1:5000","key":"alice",)"));
    EXPECT_THAT(json_line(sample_job()), Not(HasSubstr("key")));
}

TEST(JobRecord, SaysThatItWasSlowOnlyIfItWas) {
    JobRecord record = sample_job();
    record.is_slow = true;
    record.failure.detail.assign("why");
    EXPECT_THAT(json_line(record), HasSubstr(R"("reason":"answered","slow":true,"detail":"why"})"));
    EXPECT_THAT(json_line(sample_job()), Not(HasSubstr("slow")));
}

TEST(JobRecord, SaysNullForMissingValues) {
    JobRecord record = sample_job();
    record.lane = LaneId{};
    record.status = 0;
    record.outcome = Outcome::cancelled;
    record.reason = EndReason::client_left;
    EXPECT_THAT(json_line(record), HasSubstr(R"("lane":null,)"));
    EXPECT_THAT(json_line(record), HasSubstr(R"("status":null,)"));
    EXPECT_THAT(json_line(record), HasSubstr(R"("outcome":"cancelled","reason":"client_left"})"));
}

TEST(JobRecord, ShowsTimesInMillisecondsToTheMicrosecond) {
    const auto shown = [](Duration queue) {
        JobRecord record = sample_job();
        record.queue = queue;
        const std::string line = json_line(record);
        const std::size_t start = line.find("queue_ms\":") + 10;
        return line.substr(start, line.find(',', start) - start);
    };
    EXPECT_EQ(shown(0ns), "0");
    EXPECT_EQ(shown(999ns), "0");
    EXPECT_EQ(shown(1us), "0.001");
    EXPECT_EQ(shown(1'050us), "1.05");
    EXPECT_EQ(shown(2ms), "2");
    EXPECT_EQ(shown(1h), "3600000");
    EXPECT_EQ(shown(-5ms), "0") << "a clock that jumped";
}

TEST(JobRecord, IsOneLineWhateverTheClientSends) {
    JobRecord record = sample_job();
    record.path.assign("/a\"b\n{}\x1B[2J\xFF");
    const std::string json = json_line(record);
    EXPECT_THAT(json, HasSubstr(R"("path":"/a\"b\n{}\u001b[2J)"
                                "\xEF\xBF\xBD\""));
    EXPECT_EQ(std::ranges::count(json, '\n'), 1);

    const std::string readable = readable_line(record);
    EXPECT_THAT(readable, HasSubstr("POST /a\"b?{}?[2J?"));
    EXPECT_EQ(std::ranges::count(readable, '\n'), 1);
}

TEST(JobRecord, FitsIntoTheSmallestLogFileAtItsLongest) {
    const std::string worst(255, '\x01');  // six bytes each in JSON
    JobRecord record{.job = JobId{0},
                     .id = Text<24>{worst},
                     .pool = Text<64>{worst},
                     .lane = LaneId{~std::uint64_t{1}},
                     .gpu = Text<48>{worst},
                     .arrived_unix_ns = ten_o_clock,
                     .queue = Duration::max(),
                     .run = Duration::max(),
                     .attempts = ~std::uint32_t{0},
                     .status = 999,
                     .bytes_in = Bytes{~std::uint64_t{0}},
                     .bytes_out = Bytes{~std::uint64_t{0}},
                     .client = Text<64>{worst},
                     .key = Text<64>{worst},
                     .method = Text<8>{worst},
                     .path = Text<128>{worst},
                     .failure = {.problem = Text<24>{worst},
                                 .detail = Text<240>{worst},
                                 .withheld = {.are = WithheldWords::Are::last_output,
                                              .text = Text<240>{worst}}}};
    EXPECT_LE(json_line(record).size(), LogFile::size_least.count);
}

TEST(JobRecord, NeedsNoMemoryBeyondTheLine) {
    std::string line;
    line.reserve(1000);
    const char* before = line.data();
    append_json_line(line, sample_job());
    append_readable_line(line, sample_job());
    EXPECT_EQ(line.data(), before);
}

TEST(JobRecord, IsReadableInColumns) {
    EXPECT_EQ(readable_line(sample_job()),
              "10:00:00.135  k3f9           lane 0   POST /predict             200"
              "  queued 0.1 ms, ran 12 ms\n");
    JobRecord other = sample_job();
    other.id.assign("k3fa");
    other.lane = LaneId{13};
    other.method.assign("GET");
    other.path.assign("/v1/models");
    other.status = 0;
    EXPECT_EQ(readable_line(other).find("queued"), readable_line(sample_job()).find("queued"));
}

TEST(JobRecord, SaysInWordsWhatWentWrong) {
    JobRecord record = sample_job();
    record.outcome = Outcome::failed;
    record.reason = EndReason::worker_died;
    record.attempts = 2;
    EXPECT_THAT(readable_line(record), EndsWith(", ran 12 ms, attempt 2  failed: worker died\n"));
}

TEST(JobRecord, DoesNotRepeatTheReasonThatItsDetailBeginsWith) {
    JobRecord record = sample_job();
    record.outcome = Outcome::failed;
    record.reason = EndReason::model_failed;
    record.failure.problem.assign("model-failed");
    record.failure.detail.assign("ValueError: x");
    EXPECT_THAT(readable_line(record), EndsWith("  failed: model failed (ValueError: x)\n"));
    EXPECT_THAT(json_line(record), HasSubstr(R"("detail":"model-failed: ValueError: x")"));
    record.failure.detail = {};
    EXPECT_THAT(readable_line(record), EndsWith("  failed: model failed\n"));
    EXPECT_THAT(json_line(record), HasSubstr(R"("detail":"model-failed"})"));
    record.failure.withheld.are = WithheldWords::Are::message;
    record.failure.withheld.text.assign("x");
    EXPECT_THAT(readable_line(record), EndsWith(" model failed (not shown to its client: x)\n"));
    record.failure = {};
    record.failure.problem.assign("worker-died");
    record.failure.detail.assign("exit code 1");
    EXPECT_THAT(readable_line(record), EndsWith(" model failed (worker-died: exit code 1)\n"));
    EXPECT_THAT(json_line(record), HasSubstr(R"("detail":"worker-died: exit code 1")"));
}

TEST(JobRecord, AddsWhatItsClientWasNotShown) {
    JobRecord record = sample_job();
    record.failure.problem.assign("worker-died");
    record.failure.detail.assign("exit code 1");
    record.failure.withheld.are = WithheldWords::Are::last_output;
    record.failure.withheld.text.assign("\"no\" torch");
    EXPECT_THAT(
        json_line(record),
        HasSubstr(R"("detail":"worker-died: exit code 1; its last output: \"no\" torch"})"));
    record.failure.withheld.are = WithheldWords::Are::message;
    EXPECT_THAT(json_line(record), HasSubstr(R"(exit code 1; not shown to its client: \"no\")"));
}

TEST(JobRecord, LeavesOutWhatItsClientWasNotShownIfItIsTold) {
    const auto members = [](const JobRecord& record, Withheld words) {
        std::string text;
        append_json_members(text, record, words);
        return text;
    };
    JobRecord record = sample_job();
    record.failure.problem.assign("worker-died");
    record.failure.withheld.are = WithheldWords::Are::last_output;
    record.failure.withheld.text.assign("secret");
    EXPECT_EQ('{' + members(record, Withheld::shown) + "}\n", json_line(record));
    EXPECT_THAT(members(record, Withheld::shown), HasSubstr("secret"));
    EXPECT_THAT(members(record, Withheld::hidden), EndsWith(R"("detail":"worker-died")"));
}

TEST(JobRecord, DoesNotSayThatARefusedJobRan) {
    JobRecord record = sample_job();
    record.lane = LaneId{};
    record.attempts = 0;
    record.run = 0s;
    record.status = 429;
    record.outcome = Outcome::refused;
    record.reason = EndReason::queue_full;
    EXPECT_THAT(readable_line(record), HasSubstr("no lane  POST /predict"));
    EXPECT_THAT(readable_line(record), EndsWith(" 429  queued 0.1 ms  refused: queue full\n"));
}

TEST(JobRecord, ShowsSpansAsPeopleSayThem) {
    const auto shown = [](Duration run) {
        JobRecord record = sample_job();
        record.run = run;
        const std::string line = readable_line(record);
        return line.substr(line.find("ran ") + 4);
    };
    EXPECT_EQ(shown(50us), "0 ms\n");
    EXPECT_EQ(shown(3'456us), "3.4 ms\n");
    EXPECT_EQ(shown(999'999us), "999 ms\n");
    EXPECT_EQ(shown(1'250ms), "1.2 s\n");
    EXPECT_EQ(shown(59'999ms), "59.9 s\n");
    EXPECT_EQ(shown(245s), "4 min 5 s\n");
}

TEST(JobRecord, ShowsTheReadersTimeOfDay) {
    std::string line;
    append_readable_line(line, sample_job(), -11h);
    EXPECT_EQ(line.substr(0, 12), "23:00:00.135") << "the evening before";
}

TEST(JobStart, IsOneJsonObjectOnOneLine) {
    EXPECT_EQ(json_line(sample_start()),
              R"({"id":"k3f9","event":"started","pool":"default","lane":2,"gpu":"3","attempt":1,)"
              R"("at":"2026-11-15T10:00:00.123Z"})"
              "\n");
}

TEST(JobStart, NamesTheGpuElseTheLane) {
    JobStart start = sample_start();
    EXPECT_EQ(readable_line(start), "10:00:00.123  k3f9           lane 2   started on GPU 3\n");
    start.gpu = {};
    start.attempt = 2;
    EXPECT_THAT(readable_line(start), EndsWith("  started on lane 2, attempt 2\n"));
    EXPECT_THAT(json_line(start), HasSubstr(R"("gpu":null,"attempt":2,)"));
}

}  // namespace
}  // namespace turnpike
