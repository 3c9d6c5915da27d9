// What /-/jobs/ID shows about a job, and to whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "gate/pages.h"
#include "tests/unit/gate/gate_fixture.h"
#include "tests/unit/gate/pages_fixture.h"

namespace turnpike {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A pool with one lane, and one job, which belongs to alice.
struct JobPageFixture : PagesFixture {
    JobPageFixture()
        : PagesFixture({.pools = {PoolConfig{.name = "only", .settings = {.lanes = 1}}}}) {
        deps.find_live = [this](JobId) { return &record; };
        deps.for_each_live = [this](const auto& visit) { visit(record); };
        record.id.assign("abc");
        record.key.assign("alice");
        handle(GateOpened{});
    }
    template <class What>
    What first() const {
        for (const Action& action : actions)
            if (const auto* found = std::get_if<What>(&action)) return *found;
        ADD_FAILURE() << "no " << What::name;
        return {};
    }
    void handle(const Event& event) { engine.handle(event, clock.now(), actions); }
    void queue() {
        handle(JobArrived{.ticket = Ticket{1}, .pool = PoolId{0}});
        record.job = first<AdmitJob>().job;
        exchange = exchanges.open(record.job);
        handle(BodyCompleted{record.job, {}});
    }
    void run() {
        const WorkerId worker = first<StartWorker>().worker;
        handle(WorkerStarted{worker});
        handle(WorkerReady{worker});
        queue();
        EXPECT_EQ(first<SendJob>().job, record.job);
    }
    [[nodiscard]] std::string page(const Caller& caller) const {
        return job_page(deps, record, caller);
    }

    Actions actions;
    JobRecord record;
    ExchangePtr exchange;
    const ApiKey alices_key{.name = "alice"};
    const Caller alice{.key = &alices_key};
};

TEST(JobPage, TellsTheProgressOfARunningJobToItsOwner) {
    JobPageFixture fixture;
    fixture.run();
    EXPECT_THAT(fixture.page(fixture.alice), Not(HasSubstr("progress")));
    fixture.exchange->progress = {.permille = 400, .text = "step 12/30"};
    EXPECT_THAT(fixture.page(fixture.alice),
                HasSubstr(R"("progress":{"fraction":0.4,"text":"step 12/30"})"));
    EXPECT_THAT(fixture.page(fixture.admin), HasSubstr(R"("fraction":0.4)"));
    EXPECT_THAT(jobs_page(fixture.deps, fixture.alice), HasSubstr("step 12/30"));
}

TEST(JobPage, TellsWhatIsKnownOfTheProgress) {
    JobPageFixture fixture;
    fixture.run();
    fixture.exchange->progress = {.permille = 1000, .text = {}};
    EXPECT_THAT(fixture.page(fixture.alice), HasSubstr(R"("progress":{"fraction":1,"text":null})"));
    fixture.exchange->progress = {.permille = 0, .text = {}};
    EXPECT_THAT(fixture.page(fixture.alice), HasSubstr(R"({"fraction":0,"text":null})"));
    fixture.exchange->progress = {.permille = {}, .text = "a \"b\""};
    EXPECT_THAT(fixture.page(fixture.alice), HasSubstr(R"({"fraction":null,"text":"a \"b\""})"));
}

TEST(JobPage, ShowsNoProgressOfAJobThatWaits) {
    JobPageFixture fixture;
    fixture.queue();
    fixture.exchange->progress = {.permille = 400, .text = "of an attempt that broke"};
    EXPECT_THAT(fixture.page(fixture.admin),
                AllOf(HasSubstr(R"("state":"queued")"), Not(HasSubstr("progress"))));
}

TEST(JobPage, ShowsTheStacksOfASlowJobToAdminsOnly) {
    JobPageFixture fixture;
    fixture.run();
    fixture.exchange->stacks = "Thread 1\n  predict";
    EXPECT_THAT(fixture.page(fixture.admin), HasSubstr(R"("stacks":"Thread 1\n  predict"})"));
    EXPECT_THAT(fixture.page(fixture.alice), Not(HasSubstr("stacks")));
    EXPECT_THAT(jobs_page(fixture.deps, fixture.admin), Not(HasSubstr("stacks")))
        << "too long for a list";
}

TEST(JobPage, ShowsTheStacksOfAnEndedJobToAdminsOnly) {
    JobPageFixture fixture;
    fixture.record.job = JobId{7};
    fixture.record.is_slow = true;
    fixture.recent.keep_stacks(JobId{7}, "Thread 1\n  predict");
    EXPECT_THAT(
        fixture.page(fixture.admin),
        AllOf(HasSubstr(R"("slow":true)"), HasSubstr(R"(,"stacks":"Thread 1\n  predict"})")));
    EXPECT_THAT(fixture.page(fixture.alice),
                AllOf(HasSubstr(R"("slow":true)"), Not(HasSubstr("stacks"))));
}

TEST(JobPage, HidesAMessageThatTheClientDidNotGetFromPlainKeys) {
    JobPageFixture fixture;
    fixture.record.job = JobId{7};
    for (const std::string_view mark : {not_shown_mark, last_output_mark}) {
        fixture.record.detail.assign("model-failed" + std::string(mark) + "secret");
        EXPECT_THAT(fixture.page(fixture.admin), HasSubstr("secret"));
        EXPECT_THAT(fixture.page(fixture.alice),
                    AllOf(HasSubstr(R"("detail":"model-failed")"), Not(HasSubstr("secret"))));
    }
}

// ── from the exchange to the record ──────────────────────────────────────────────────────────────

constexpr std::string_view get = "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n";

std::string page_of(GateFixture& fixture, const std::string& name) {
    Client& client = fixture.ask("GET /-/jobs/" + name + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    fixture.hear(client, "}\n");
    return client.got;
}

TEST(JobPage, HasTheStacksOfAJobThatWasAnsweredAfterAll) {
    GateFixture fixture;
    Client& client = fixture.ask(get);
    const ExchangePtr exchange = fixture.queued();
    const std::string name = exchange->name;
    exchange->stacks = "Thread 1";
    fixture.taken = 0;
    fixture.answer("late");
    fixture.hear(client, "late");
    EXPECT_THAT(page_of(fixture, name),
                AllOf(HasSubstr(R"("state":"ended")"), HasSubstr(R"("slow":true)"),
                      HasSubstr(R"("stacks":"Thread 1")")));
    EXPECT_EQ(exchange->stacks, "") << "they moved";
}

TEST(JobPage, HasNoStacksOfTheNextJob) {
    GateFixture fixture;
    Client& client = fixture.ask(get);
    fixture.queued()->stacks = "Thread 1";
    fixture.taken = 0;
    fixture.answer("slow");
    fixture.hear(client, "slow");
    client.say(get);
    const std::string name = fixture.queued()->name;
    fixture.taken = 1;
    fixture.answer("fast");
    fixture.hear(client, "fast");
    EXPECT_THAT(page_of(fixture, name), AllOf(HasSubstr(R"("state":"ended")"),
                                              Not(HasSubstr("slow")), Not(HasSubstr("stacks"))));
}

TEST(JobPage, BeginsAFurtherAttemptWithoutTheProgressOfTheEarlier) {
    GateFixture fixture;
    fixture.lanes.resize(1);
    fixture.ask(get);
    const ExchangePtr exchange = fixture.queued();
    exchange->progress = {.permille = 400, .text = "step 12/30"};
    fixture.gate.observe(SendJob{.lane = LaneId{0}, .job = fixture.job, .number = 2});
    EXPECT_FALSE(exchange->progress.permille);
    EXPECT_EQ(exchange->progress.text, "");
}

}  // namespace
}  // namespace turnpike
