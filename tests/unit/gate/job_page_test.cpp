// What /-/jobs/ID tells of a job, and to whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "gate/pages.h"
#include "tests/unit/gate/gate_stand.h"

namespace turnpike {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// One lane, and one job, which is alice's.
struct Watched {
    Watched() {
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

    Config config{.pools = {PoolConfig{.name = "only", .settings = {.lanes = 1}}}};
    Engine engine{engine_settings(config, 1)};
    RecentJobs recent;
    Exchanges exchanges;
    std::vector<LaneFacts> facts{1};
    CrashShelf crashes{1};
    JobNames names{1};
    Clock clock;
    Actions actions;
    JobRecord record;
    ExchangePtr exchange;
    const ApiKey alices_key{.name = "alice"};
    const Caller admin{.is_admin = true};
    const Caller alice{.key = &alices_key};
    OwnRouteDeps deps{.config = config,
                      .engine = engine,
                      .recent = recent,
                      .exchanges = exchanges,
                      .lanes = facts,
                      .crashes = crashes,
                      .log_of = [](std::size_t) { return nullptr; },
                      .names = names,
                      .clock = clock,
                      .started = clock.now(),
                      .address = "http://127.0.0.1:8000",
                      .find_live = [this](JobId) { return &record; },
                      .for_each_live = [this](const auto& visit) { visit(record); },
                      .order = [](const Event&) {}};
};

TEST(JobPage, TellsTheProgressOfARunningJobToItsOwner) {
    Watched watched;
    watched.run();
    EXPECT_THAT(watched.page(watched.alice), Not(HasSubstr("progress")));
    watched.exchange->progress = {.permille = 400, .text = "step 12/30"};
    EXPECT_THAT(watched.page(watched.alice),
                HasSubstr(R"("progress":{"fraction":0.4,"text":"step 12/30"})"));
    EXPECT_THAT(watched.page(watched.admin), HasSubstr(R"("fraction":0.4)"));
    EXPECT_THAT(jobs_page(watched.deps, watched.alice), HasSubstr("step 12/30"));
}

TEST(JobPage, TellsWhatIsKnownOfTheProgress) {
    Watched watched;
    watched.run();
    watched.exchange->progress = {.permille = 1000, .text = {}};
    EXPECT_THAT(watched.page(watched.alice), HasSubstr(R"("progress":{"fraction":1,"text":null})"));
    watched.exchange->progress = {.permille = 0, .text = {}};
    EXPECT_THAT(watched.page(watched.alice), HasSubstr(R"({"fraction":0,"text":null})"));
    watched.exchange->progress = {.permille = {}, .text = "a \"b\""};
    EXPECT_THAT(watched.page(watched.alice), HasSubstr(R"({"fraction":null,"text":"a \"b\""})"));
}

TEST(JobPage, TellsNoProgressOfAJobThatWaits) {
    Watched watched;
    watched.queue();
    watched.exchange->progress = {.permille = 400, .text = "of an attempt that broke"};
    EXPECT_THAT(watched.page(watched.admin),
                AllOf(HasSubstr(R"("state":"queued")"), Not(HasSubstr("progress"))));
}

TEST(JobPage, ShowsTheStacksOfASlowJobToAdminsOnly) {
    Watched watched;
    watched.run();
    watched.exchange->stacks = "Thread 1\n  predict";
    EXPECT_THAT(watched.page(watched.admin), HasSubstr(R"("stacks":"Thread 1\n  predict"})"));
    EXPECT_THAT(watched.page(watched.alice), Not(HasSubstr("stacks")));
    EXPECT_THAT(jobs_page(watched.deps, watched.admin), Not(HasSubstr("stacks")))
        << "too long for a list";
}

TEST(JobPage, ShowsTheStacksOfAnEndedJobToAdminsOnly) {
    Watched watched;
    watched.record.job = JobId{7};
    watched.record.is_slow = true;
    watched.recent.keep_stacks(JobId{7}, "Thread 1\n  predict");
    EXPECT_THAT(
        watched.page(watched.admin),
        AllOf(HasSubstr(R"("slow":true)"), HasSubstr(R"(,"stacks":"Thread 1\n  predict"})")));
    EXPECT_THAT(watched.page(watched.alice),
                AllOf(HasSubstr(R"("slow":true)"), Not(HasSubstr("stacks"))));
}

TEST(JobPage, KeepsWordsThatTheClientWasNotToldFromPlainKeys) {
    Watched watched;
    watched.record.job = JobId{7};
    for (const std::string_view mark : {not_shown_mark, last_output_mark}) {
        watched.record.detail.assign("model-failed" + std::string(mark) + "secret");
        EXPECT_THAT(watched.page(watched.admin), HasSubstr("secret"));
        EXPECT_THAT(watched.page(watched.alice),
                    AllOf(HasSubstr(R"("detail":"model-failed")"), Not(HasSubstr("secret"))));
    }
}

// ── from the exchange to the record ──────────────────────────────────────────────────────────────

constexpr std::string_view get = "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n";

std::string page_of(GateStand& stand, const std::string& name) {
    Client& client = stand.ask("GET /-/jobs/" + name + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stand.hear(client, "}\n");
    return client.got;
}

TEST(JobPage, HasTheStacksOfAJobThatWasAnsweredAfterAll) {
    GateStand stand;
    Client& client = stand.ask(get);
    const ExchangePtr exchange = stand.queued();
    const std::string name = exchange->name;
    exchange->stacks = "Thread 1";
    stand.taken = 0;
    stand.answer("late");
    stand.hear(client, "late");
    EXPECT_THAT(page_of(stand, name),
                AllOf(HasSubstr(R"("state":"ended")"), HasSubstr(R"("slow":true)"),
                      HasSubstr(R"("stacks":"Thread 1")")));
    EXPECT_EQ(exchange->stacks, "") << "they moved";
}

TEST(JobPage, HasNoStacksOfTheNextJob) {
    GateStand stand;
    Client& client = stand.ask(get);
    stand.queued()->stacks = "Thread 1";
    stand.taken = 0;
    stand.answer("slow");
    stand.hear(client, "slow");
    client.say(get);
    const std::string name = stand.queued()->name;
    stand.taken = 1;
    stand.answer("fast");
    stand.hear(client, "fast");
    EXPECT_THAT(page_of(stand, name), AllOf(HasSubstr(R"("state":"ended")"), Not(HasSubstr("slow")),
                                            Not(HasSubstr("stacks"))));
}

TEST(JobPage, BeginsAFurtherAttemptWithoutTheProgressOfTheEarlier) {
    GateStand stand;
    stand.lanes.resize(1);
    stand.ask(get);
    const ExchangePtr exchange = stand.queued();
    exchange->progress = {.permille = 400, .text = "step 12/30"};
    stand.gate.observe(SendJob{.lane = LaneId{0}, .job = stand.job, .number = 2});
    EXPECT_FALSE(exchange->progress.permille);
    EXPECT_EQ(exchange->progress.text, "");
}

}  // namespace
}  // namespace turnpike
