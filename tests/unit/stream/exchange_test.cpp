#include "stream/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "bench/allocations.h"
#include "tests/unit/stream/disk.h"

namespace turnpike {
namespace {

JobId job_at(std::uint64_t place, std::uint64_t use = 1) { return JobId{(use << 32) | place}; }

TEST(Exchanges, FindWhatIsOpen) {
    Wakeups wakeups;
    Exchanges exchanges(wakeups);
    const ExchangePtr one = exchanges.open(job_at(0));
    const ExchangePtr other = exchanges.open(job_at(7));
    EXPECT_NE(one, other);
    EXPECT_EQ(exchanges.find(job_at(0)), one);
    EXPECT_EQ(exchanges.find(job_at(7)), other);
    EXPECT_EQ(one->job, job_at(0));
}

TEST(Exchanges, FindNothingOfAnIdThatIsNotOpen) {
    Wakeups wakeups;
    Exchanges exchanges(wakeups);
    EXPECT_EQ(exchanges.find(job_at(0)), nullptr);
    EXPECT_EQ(exchanges.find(JobId{}), nullptr);
    ExchangePtr exchange = exchanges.open(job_at(3));
    EXPECT_EQ(exchanges.find(job_at(2)), nullptr);
    EXPECT_EQ(exchanges.find(job_at(4)), nullptr);
    EXPECT_EQ(exchanges.find(JobId{}), nullptr);
    exchanges.close(std::move(exchange));
    EXPECT_EQ(exchanges.find(job_at(3)), nullptr);
}

TEST(Exchanges, FindNothingOfAnEarlierJobAtTheSamePlace) {
    Wakeups wakeups;
    Exchanges exchanges(wakeups);
    exchanges.close(exchanges.open(job_at(3, 1)));
    const ExchangePtr now = exchanges.open(job_at(3, 2));
    EXPECT_EQ(exchanges.find(job_at(3, 1)), nullptr);
    EXPECT_EQ(exchanges.find(job_at(3, 2)), now);
}

TEST(Exchanges, UseAnExchangeAgainAsIfItWereNew) {
    Disk disk;
    Wakeups wakeups;
    Exchanges exchanges(wakeups);
    ExchangePtr exchange = exchanges.open(job_at(0, 1));
    const Exchange* const first = exchange.get();
    exchange->name = "32t3d0mtbcjgg";
    exchange->target = "/secret";
    exchange->attempt = {.generation = Generation{3},
                         .began = Instant{1s},
                         .trouble = {.cause = Cause::worker_died,
                                     .told = "exit code 3",
                                     .said = "printed for the earlier job"},
                         .progress = {.permille = 400, .text = "step 12/30"},
                         .stacks = "Thread 1 (most recent call first)"};
    exchange->fields = "A: b\r\n";
    exchange->body.append(disk.store, "body", nullptr);
    exchange->answer.start(nullptr).status = 500;
    exchange->answer.hold();
    exchange->answer.append(disk.store, "answer");
    exchanges.close(std::move(exchange));

    const ExchangePtr again = exchanges.open(job_at(5, 1));
    EXPECT_EQ(again.get(), first);
    EXPECT_EQ(again->job, job_at(5, 1));
    EXPECT_EQ(again->name, "");
    EXPECT_EQ(again->target, "");
    EXPECT_TRUE(again->attempt.generation.is_none());
    EXPECT_EQ(again->attempt.began, Instant{});
    EXPECT_EQ(again->attempt.trouble, Trouble{});
    EXPECT_FALSE(again->attempt.progress.permille);
    EXPECT_EQ(again->attempt.progress.text, "");
    EXPECT_EQ(again->attempt.stacks, "");
    EXPECT_EQ(again->fields, "");
    EXPECT_EQ(again->body.size(), 0U);
    EXPECT_EQ(again->answer.state(), AnswerState::none);
    EXPECT_EQ(again->answer.front(), "");
    EXPECT_EQ(again->answer.head().status, 0);
}

TEST(Exchanges, BeginAnAttemptWithoutWhatTheOneBeforeReported) {
    Wakeups wakeups;
    Exchanges exchanges(wakeups);
    const ExchangePtr of_gate = exchanges.open(job_at(0, 1));
    of_gate->target = "/kept";
    ExchangePtr first =
        exchanges.begin_attempt(job_at(0, 1), AttemptId{1}, Generation{1}, Instant{1s});
    EXPECT_EQ(first, of_gate);
    first->attempt.trouble = {
        .cause = Cause::worker_died, .told = "exit code 3", .said = "of the dead worker"};
    first->attempt.progress = {.permille = 400, .text = "step 12/30"};
    first->attempt.stacks = "Thread 1 of the dead worker";
    exchanges.drop(std::move(first));

    const ExchangePtr second =
        exchanges.begin_attempt(job_at(0, 1), AttemptId{2}, Generation{2}, Instant{2s});
    EXPECT_EQ(second, of_gate);
    EXPECT_EQ(second->target, "/kept") << "the job is the same";
    EXPECT_EQ(second->attempt.generation, Generation{2});
    EXPECT_EQ(second->attempt.began, Instant{2s});
    EXPECT_EQ(second->attempt.trouble, Trouble{});
    EXPECT_FALSE(second->attempt.progress.permille);
    EXPECT_EQ(second->attempt.progress.text, "");
    EXPECT_EQ(second->attempt.stacks, "");
}

TEST(Exchanges, GiveBackAnExchangeWhenTheSupervisorDropsItLast) {
    Wakeups wakeups;
    Exchanges exchanges(wakeups);
    ExchangePtr of_gate = exchanges.open(job_at(0, 1));
    ExchangePtr of_supervisor = exchanges.find(job_at(0, 1));
    const Exchange* const first = of_gate.get();
    of_gate->target = "/kept";
    exchanges.close(std::move(of_gate));
    EXPECT_EQ(of_supervisor->target, "/kept") << "the supervisor still needs it";
    const ExchangePtr meanwhile = exchanges.open(job_at(0, 2));
    EXPECT_NE(meanwhile.get(), first);
    exchanges.drop(std::move(of_supervisor));
    EXPECT_EQ(exchanges.find(job_at(0, 2)), meanwhile);
    EXPECT_EQ(exchanges.open(job_at(1, 1)).get(), first);
}

TEST(Exchanges, GiveBackAnExchangeWhenTheGateClosesItLast) {
    Wakeups wakeups;
    Exchanges exchanges(wakeups);
    ExchangePtr of_gate = exchanges.open(job_at(0, 1));
    ExchangePtr of_supervisor = exchanges.find(job_at(0, 1));
    const Exchange* const first = of_gate.get();
    exchanges.drop(std::move(of_supervisor));
    EXPECT_EQ(exchanges.find(job_at(0, 1)), of_gate) << "a further attempt may come";
    exchanges.close(std::move(of_gate));
    EXPECT_EQ(exchanges.open(job_at(0, 2)).get(), first);
}

TEST(Exchanges, KeepOnlySoManyToSpare) {
    Wakeups wakeups;
    Exchanges exchanges(wakeups);
    std::vector<ExchangePtr> open;
    for (std::uint64_t place = 0; place < 2000; ++place)
        open.push_back(exchanges.open(job_at(place)));
    std::vector<std::weak_ptr<Exchange>> seen(open.begin(), open.end());
    for (ExchangePtr& exchange : open) exchanges.close(std::move(exchange));
    const auto kept = std::ranges::count_if(seen, [](const auto& one) { return !one.expired(); });
    EXPECT_EQ(kept, 256);
}

TEST(Exchanges, KeepTheMemoryOfProgressButNotThatOfLongStacks) {
    Wakeups wakeups;
    Exchanges exchanges(wakeups);
    ExchangePtr exchange = exchanges.open(job_at(0, 1));
    exchange->attempt.progress.text.assign(200, 'p');
    exchange->attempt.stacks.assign(200'000, 's');
    const std::size_t kept = exchange->attempt.progress.text.capacity();
    exchanges.close(std::move(exchange));
    const ExchangePtr again = exchanges.open(job_at(0, 2));
    EXPECT_EQ(again->attempt.progress.text.capacity(), kept);
    EXPECT_LT(again->attempt.stacks.capacity(), 20'000U);
}

void one_job(Exchanges& exchanges, const Store& store, std::uint64_t number) {
    const JobId job = job_at(number % 4, number);
    ExchangePtr of_gate = exchanges.open(job);
    of_gate->name.assign("32t3d0mtbcjgg");
    of_gate->method.assign("POST");
    of_gate->target.assign("/a/path/that/is/longer/than/what/a/string/holds/by/itself");
    of_gate->fields.append("Content-Type: application/json; charset=utf-8\r\nAccept: */*\r\n");
    of_gate->body.append(store, "{\"input\": \"as long as a small request usually is\"}", nullptr);
    for (const std::string_view how :
         {"killed by SIGSEGV (core dumped)", "exit code 1 (and more)"}) {
        Trouble& trouble =
            exchanges.begin_attempt(job, AttemptId{1}, Generation{1}, Instant{})->attempt.trouble;
        trouble.cause = Cause::worker_died;
        trouble.told.assign(how);
        trouble.said.assign("Traceback (most recent call last): and what follows it");
    }
    ExchangePtr of_supervisor =
        exchanges.begin_attempt(job, AttemptId{1}, Generation{1}, Instant{});
    of_supervisor->attempt.progress.permille = 400;
    of_supervisor->attempt.progress.text.assign("step 12/30 of what takes some time");
    AnswerHead& head = of_supervisor->answer.start(nullptr);
    head.fields.append("Content-Type: application/json; charset=utf-8\r\n");
    of_supervisor->answer.hold();
    of_supervisor->answer.append(store, "{\"output\": \"as long as a small answer usually is\"}");
    of_supervisor->answer.complete();
    exchanges.drop(std::move(of_supervisor));
    of_gate->answer.consume(store, of_gate->answer.front().size());
    exchanges.close(std::move(of_gate));
}

TEST(Exchanges, AllocateNothingInASteadyState) {
    Disk disk;
    disk.store.memory_max = 1024;
    Wakeups wakeups;
    Exchanges exchanges(wakeups);
    for (std::uint64_t number = 1; number <= 100; ++number) one_job(exchanges, disk.store, number);
    const std::uint64_t before = allocations;
    for (std::uint64_t number = 101; number <= 1100; ++number)
        one_job(exchanges, disk.store, number);
    EXPECT_EQ(allocations - before, 0U);
}

TEST(Exchanges, AllocateWhenOneMoreIsOpenThanEverBefore) {
    Wakeups wakeups;
    Exchanges exchanges(wakeups);
    const std::uint64_t before = allocations;
    const ExchangePtr exchange = exchanges.open(job_at(0));
    EXPECT_GT(allocations, before) << "so allocations are counted";
}

// ── an orderly end ───────────────────────────────────────────────────────────────────────────────

TEST(ExchangesAtAnOrderlyEnd, AreAllDropped) {
    Wakeups wakeups;
    Exchanges exchanges(wakeups);
    ExchangePtr of_gate = exchanges.open(job_at(0));
    ExchangePtr of_worker =
        exchanges.begin_attempt(job_at(0), AttemptId{1}, Generation{1}, Instant{});
    exchanges.close(std::move(of_gate));
    exchanges.drop(std::move(of_worker));
    exchanges.close(exchanges.open(job_at(0, 2)));
    exchanges.expect_dropped(0);
}

TEST(ExchangesAtAnOrderlyEnd, MustHaveBeenClosedByTheGate) {
    Wakeups wakeups;
    auto exchanges = std::make_unique<Exchanges>(wakeups);
    ExchangePtr of_gate = exchanges->open(job_at(0));
    exchanges->expect_dropped(1);
    EXPECT_DEATH(exchanges.reset(), "CHECK failed: .*is_closed");
    exchanges->close(std::move(of_gate));
}

TEST(ExchangesAtAnOrderlyEnd, MustHaveBeenDroppedByTheWorkersThatHaveEnded) {
    Wakeups wakeups;
    auto exchanges = std::make_unique<Exchanges>(wakeups);
    std::vector<ExchangePtr> of_workers;
    for (const std::uint64_t place : {0U, 1U}) {
        ExchangePtr of_gate = exchanges->open(job_at(place));
        of_workers.push_back(exchanges->find(job_at(place)));
        exchanges->close(std::move(of_gate));
    }
    exchanges->expect_dropped(1);
    EXPECT_DEATH(exchanges.reset(), "CHECK failed: in_use_");
    exchanges->drop(std::move(of_workers[0]));
    exchanges.reset();  // the other belongs to a worker that survived a kill
}

TEST(Exchanges, MayEndAbruptlyWithWhatIsOpen) {
    const auto end_abruptly = [] {
        Wakeups wakeups;
        auto exchanges = std::make_unique<Exchanges>(wakeups);
        const ExchangePtr of_gate = exchanges->open(job_at(0));
        exchanges.reset();
        std::_Exit(0);  // the exchange itself must not outlive the account of answers
    };
    EXPECT_EXIT(end_abruptly(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace turnpike
