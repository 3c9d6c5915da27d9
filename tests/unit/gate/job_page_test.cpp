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
    fixture.exchange->attempt.progress = {.permille = 400, .text = "step 12/30"};
    EXPECT_THAT(fixture.page(fixture.alice),
                HasSubstr(R"("progress":{"fraction":0.4,"text":"step 12/30"})"));
    EXPECT_THAT(fixture.page(fixture.admin), HasSubstr(R"("fraction":0.4)"));
    EXPECT_THAT(jobs_page(fixture.deps, fixture.alice), HasSubstr("step 12/30"));
}

TEST(JobPage, TellsWhatIsKnownOfTheProgress) {
    JobPageFixture fixture;
    fixture.run();
    fixture.exchange->attempt.progress = {.permille = 1000, .text = {}};
    EXPECT_THAT(fixture.page(fixture.alice), HasSubstr(R"("progress":{"fraction":1,"text":null})"));
    fixture.exchange->attempt.progress = {.permille = 0, .text = {}};
    EXPECT_THAT(fixture.page(fixture.alice), HasSubstr(R"({"fraction":0,"text":null})"));
    fixture.exchange->attempt.progress = {.permille = {}, .text = "a \"b\""};
    EXPECT_THAT(fixture.page(fixture.alice), HasSubstr(R"({"fraction":null,"text":"a \"b\""})"));
}

TEST(JobPage, ShowsNoProgressOfAJobThatWaits) {
    JobPageFixture fixture;
    fixture.queue();
    fixture.exchange->attempt.progress = {.permille = 400, .text = "of an attempt that broke"};
    EXPECT_THAT(fixture.page(fixture.admin),
                AllOf(HasSubstr(R"("state":"queued")"), Not(HasSubstr("progress"))));
}

TEST(JobPage, ShowsTheStacksOfASlowJobToAdminsOnly) {
    JobPageFixture fixture;
    fixture.run();
    fixture.exchange->attempt.stacks = "Thread 1\n  predict";
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

TEST(JobPage, HidesWhatTheClientDidNotGetFromPlainKeys) {
    JobPageFixture fixture;
    fixture.record.job = JobId{7};
    JobFailure& failure = fixture.record.failure;
    failure.problem.assign("model-failed");
    failure.withheld.text.assign("secret");
    for (const auto are : {WithheldWords::Are::message, WithheldWords::Are::last_output}) {
        failure.withheld.are = are;
        EXPECT_THAT(fixture.page(fixture.admin), HasSubstr("secret"));
        EXPECT_THAT(fixture.page(fixture.alice),
                    AllOf(HasSubstr(R"("detail":"model-failed")"), Not(HasSubstr("secret"))));
    }
}

TEST(JobPage, ShowsPlainKeysAllThatTheClientReadWhateverItsLength) {
    JobPageFixture fixture;
    fixture.record.job = JobId{7};
    JobFailure& failure = fixture.record.failure;
    failure.problem.assign("worker-died");
    failure.detail.assign("; its last output: " + std::string(300, 'x'));
    failure.withheld.are = WithheldWords::Are::last_output;
    failure.withheld.text.assign("secret");
    EXPECT_THAT(fixture.page(fixture.admin), HasSubstr("secret"));
    EXPECT_THAT(fixture.page(fixture.alice),
                AllOf(HasSubstr("its last output: xxx"), Not(HasSubstr("secret"))));
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
    exchange->attempt.stacks = "Thread 1";
    fixture.taken = 0;
    fixture.answer("late");
    fixture.hear(client, "late");
    EXPECT_THAT(page_of(fixture, name),
                AllOf(HasSubstr(R"("state":"ended")"), HasSubstr(R"("slow":true)"),
                      HasSubstr(R"("stacks":"Thread 1")")));
    EXPECT_EQ(exchange->attempt.stacks, "") << "they moved";
}

TEST(JobPage, HasNoStacksOfTheNextJob) {
    GateFixture fixture;
    Client& client = fixture.ask(get);
    fixture.queued()->attempt.stacks = "Thread 1";
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

TEST(JobPage, TellsOnlyOfTheLatestAttempt) {
    GateFixture fixture;
    fixture.lanes.resize(1);
    Client& client = fixture.ask(get);
    const ExchangePtr exchange = fixture.queued();
    const std::string name = exchange->name;
    fixture.gate.observe(SendJob{.lane = LaneId{0}, .job = fixture.job, .number = 1});
    exchange->attempt.begin(AttemptId{1}, Generation{1}, fixture.clock.now());
    exchange->attempt.trouble = {
        .cause = Cause::worker_died, .told = "exit code 3", .said = "secret of the dead worker"};
    exchange->attempt.stacks = "Thread 1 of the dead worker";
    fixture.gate.observe(SendJob{.lane = LaneId{0}, .job = fixture.job, .number = 2});
    EXPECT_EQ(fixture.exchanges.begin_attempt(fixture.job, AttemptId{2}, Generation{2},
                                              fixture.clock.now()),
              exchange);
    fixture.end(fixture.job, EndReason::ran_too_long, 2);
    fixture.hear(client, "ran-too-long");
    EXPECT_THAT(client.got,
                AllOf(HasSubstr("Turnpike-Generation: 2\r\n"), Not(HasSubstr("dead worker"))));
    EXPECT_THAT(page_of(fixture, name),
                AllOf(HasSubstr(R"("detail":"ran-too-long"})"), Not(HasSubstr("dead worker")),
                      Not(HasSubstr("slow"))));
}

}  // namespace
}  // namespace turnpike
