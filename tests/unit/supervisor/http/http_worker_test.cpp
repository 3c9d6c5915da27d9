#include "supervisor/http/http_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/stream/disk.h"
#include "tests/unit/supervisor/acting_reader.h"
#include "tests/unit/supervisor/http/scripted_worker.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view answer_200 = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// A worker that is there already. The test decides when a broken link is reported, as this takes time
/// for workers that Turnpike starts.
class TestWorker final : public HttpWorker {
public:
    TestWorker(WorkerDeps& deps, const StartWorker& start, const PoolConfig& pool,
               const Destination& destination)
        : HttpWorker(deps, start, {.pool = pool, .host = "w", .prefix = "", .common = nullptr}) {
        destination_.endpoints = destination.endpoints;
    }
    void start() override { come_up(); }
    void stop(Reason) override {}
    void kill(Reason) override {
        close({.cause = Cause::worker_died, .told = "exit code 1", .said = "Traceback"});
    }

    [[nodiscard]] bool is_gone() const override { return state_ == State::over; }
    [[nodiscard]] std::vector<ExchangePtr> suspects() const { return broken_or_aboard(); }

    bool reports_late = false;
    std::vector<std::function<void()>> reports;

private:
    void come_up() override { poll_health(); }
    void proof_broke(std::uint32_t) override {}
    void link_broke(const std::function<void()>& report) override {
        reports_late ? reports.push_back(report) : report();
    }
};

/// A worker that is up. Its first health check took connection 0.
struct Stand : Disk {
    ScriptedWorker server{loop};
    Exchanges exchanges{loop.wakeups()};
    Clock clock;
    std::vector<LaneFacts> lanes{1};
    std::vector<Event> events;
    SocketDialer dialer{loop.context()};
    LoopAlarms alarms{loop.context()};
    WorkerDeps deps{.loop = loop.context(),
                    .wakeups = loop.wakeups(),
                    .alarms = alarms,
                    .dialer = dialer,
                    .store = store,
                    .exchanges = exchanges,
                    .background = background,
                    .clock = clock,
                    .lanes = lanes,
                    .deliver = [this](const Event& event) { events.push_back(event); }};
    PoolConfig pool;
    ActingReader reader;
    std::unique_ptr<TestWorker> worker;

    explicit Stand(PoolConfig of = {.name = "p"}) : pool(std::move(of)) {
        pool.settings.probe_timeout = 1h;
        const StartWorker start{.worker = {1}, .lane = {0}, .generation = {1}};
        lanes[0].begin(start);
        worker = std::make_unique<TestWorker>(deps, start, pool, server.destination);
        worker->start();
        heard(0).say(answer_200);
        wait([&] { return !events.empty(); });
        EXPECT_TRUE(std::holds_alternative<WorkerReady>(events.at(0)));
        events.clear();
    }
    ~Stand() {
        worker->kill(Reason::none);
        loop.poll();
    }

    template <class Condition>
    void wait(Condition holds) {
        EXPECT_TRUE(loop.run_until(holds));
    }
    ScriptedWorker::Visit& heard(std::size_t connection) {
        return server.heard(connection, "\r\n\r\n");
    }
    ExchangePtr open(std::uint64_t job) {
        ExchangePtr exchange = exchanges.open(JobId{job});
        exchange->method = "GET";
        exchange->target = "/job";
        exchange->answer.set_reader(&reader);
        return exchange;
    }
    static AttemptId attempt(std::uint64_t job) { return AttemptId{100 + job}; }
    void send(std::uint64_t job, std::uint32_t number = 1) {
        if (exchanges.find(JobId{job}) == nullptr) open(job);
        worker->send(
            {.worker = {1}, .lane = {0}, .job = {job}, .attempt = attempt(job), .number = number});
    }
    /// Runs a job to its end on this connection, which stays open.
    void answer_one(std::uint64_t job, std::size_t connection) {
        send(job);
        ScriptedWorker::Visit& visit = heard(connection);
        visit.got.clear();
        visit.say(answer_200);
        wait([&] { return verdict(job).has_value(); });
        EXPECT_EQ(verdict(job), Verdict::answered);
    }

    [[nodiscard]] std::optional<Verdict> verdict(std::uint64_t job) const {
        std::optional<Verdict> found;
        for (const Event& event : events) {
            const auto* ended = std::get_if<AttemptEnded>(&event);
            if (ended == nullptr || ended->attempt != attempt(job)) continue;
            EXPECT_FALSE(found) << "it ended twice";
            found = ended->verdict;
        }
        return found;
    }
    /// Returns the numbers of the probes that were reported.
    [[nodiscard]] std::vector<std::uint32_t> probes(ProbeVerdict verdict) const {
        std::vector<std::uint32_t> numbers;
        for (const Event& event : events)
            if (const auto* ended = std::get_if<ProbeEnded>(&event))
                if (ended->verdict == verdict) numbers.push_back(ended->probe);
        return numbers;
    }
};

// ── jobs ─────────────────────────────────────────────────────────────────────────────────────────

TEST(HttpWorker, ReportsAStaleRequestAndSendsItOnlyAgainIfItIsTold) {
    Stand stand;
    stand.answer_one(0, 1);
    stand.send(1);
    stand.heard(1).hang_up();
    stand.wait([&] { return stand.verdict(1).has_value(); });
    EXPECT_EQ(stand.verdict(1), Verdict::stale);
    EXPECT_THAT(stand.server.visits, SizeIs(2)) << "its health check, and the connection of both";
    EXPECT_THAT(stand.worker->suspects(), IsEmpty()) << "an idle connection was closed, no more";

    stand.events.clear();
    stand.send(1, 2);
    stand.heard(2).say(answer_200);
    stand.wait([&] { return stand.verdict(1).has_value(); });
    EXPECT_EQ(stand.verdict(1), Verdict::answered);
}

TEST(HttpWorker, NeverReusesAConnectionWithoutRetriesOrWithoutKeepAlive) {
    PoolConfig no_retry{.name = "p"};
    no_retry.settings.may_retry = false;
    for (const PoolConfig& pool : {no_retry, PoolConfig{.name = "p", .keep_alive = false}}) {
        Stand stand(pool);
        stand.send(0);
        EXPECT_TRUE(stand.heard(1).got.contains("\r\nConnection: close\r\n"));
        stand.heard(1).say(answer_200);
        stand.wait([&] { return stand.verdict(0).has_value(); });
        stand.answer_one(1, 2);
        stand.wait([&] { return stand.server.visits[1]->is_over; });
    }
}

TEST(HttpWorker, SaysThatItsWorkerSpokeUnasked) {
    Stand stand;
    stand.answer_one(0, 1);
    EXPECT_EQ(stand.lanes[0].remark, "");
    stand.send(1);
    stand.heard(1).say(std::string(answer_200) + std::string(answer_200));
    stand.wait([&] { return stand.verdict(1).has_value(); });
    EXPECT_EQ(stand.verdict(1), Verdict::answered);
    EXPECT_TRUE(stand.lanes[0].remark.contains("sends bytes that nobody asked for"));
    stand.answer_one(2, 2);
    stand.answer_one(3, 3);
}

TEST(HttpWorker, ReportsNoStaleRequestIfItsExitIsKnownBefore) {
    Stand stand;
    stand.answer_one(0, 1);
    stand.worker->reports_late = true;
    stand.send(1);
    stand.heard(1).hang_up();
    stand.wait([&] { return !stand.worker->reports.empty(); });
    stand.worker->kill(Reason::none);
    stand.worker->reports[0]();
    EXPECT_FALSE(stand.verdict(1)) << "the exit counts";
    EXPECT_EQ(stand.exchanges.find(JobId{1})->attempt.trouble.cause, Cause::worker_died);
}

TEST(HttpWorker, BeginsAnAttemptWithoutWhatADeadWorkerLeft) {
    Stand stand;
    const ExchangePtr exchange = stand.open(1);
    exchange->attempt.begin(AttemptId{1}, Generation{7}, Instant{});
    exchange->attempt.trouble = {
        .cause = Cause::worker_died, .told = "exit code 3", .said = "Traceback"};
    exchange->attempt.progress = {.permille = std::uint16_t{500}, .text = "half"};
    exchange->attempt.stacks = "Thread 1";
    stand.send(1, 2);
    stand.heard(1);
    stand.worker->cancel(Stand::attempt(1));  // as if its time were up
    EXPECT_EQ(exchange->attempt.trouble, Trouble{});
    EXPECT_FALSE(exchange->attempt.progress.permille);
    EXPECT_EQ(exchange->attempt.progress.text, "");
    EXPECT_EQ(exchange->attempt.stacks, "");
    EXPECT_EQ(exchange->attempt.generation, Generation{1});
    EXPECT_GT(exchange->attempt.began, Instant{});
}

TEST(HttpWorker, TakesNoJobOnceItIsOver) {
    Stand stand;
    stand.worker->kill(Reason::none);
    stand.send(1);
    stand.loop.poll();
    EXPECT_EQ(stand.server.visits.size(), 1U) << "only its health check came";
    EXPECT_TRUE(stand.events.empty()) << "the engine learns of the end by another event";
}

TEST(HttpWorker, ClosesACancelledRequestWithoutSayingThatTheWorkerIsDone) {
    Stand stand;
    stand.send(0);
    stand.heard(1);
    stand.worker->cancel(Stand::attempt(0));
    EXPECT_EQ(stand.verdict(0), Verdict::closed);
    stand.wait([&] { return stand.server.visits[1]->is_over; });
}

TEST(HttpWorker, ClosesAnAnswerThatHasBegun) {
    Stand stand;
    stand.send(0);
    stand.heard(1).say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
    const ExchangePtr exchange = stand.exchanges.find(JobId{0});
    stand.wait([&] { return exchange->answer.front() == "ok"; });
    exchange->answer.abandon();
    stand.worker->cancel(Stand::attempt(0));
    EXPECT_EQ(stand.verdict(0), Verdict::closed);
    stand.wait([&] { return stand.server.visits[1]->is_over; });
}

TEST(HttpWorker, IsDoneWithACancelledRequestOfWhichNothingWasSent) {
    Stand stand;
    stand.send(0);  // connects; the loop does not run meanwhile
    stand.worker->cancel(Stand::attempt(0));
    EXPECT_EQ(stand.verdict(0), Verdict::cancelled);
}

TEST(HttpWorker, ReportsHowARequestBrokeEvenIfItIsCancelledMeanwhile) {
    Stand stand;
    stand.worker->reports_late = true;
    stand.send(0);
    stand.heard(1).hang_up();
    stand.wait([&] { return !stand.worker->reports.empty(); });
    stand.worker->cancel(Stand::attempt(0));
    EXPECT_FALSE(stand.verdict(0)) << "the worker may have died, and then that counts";
    stand.worker->reports[0]();
    EXPECT_EQ(stand.verdict(0), Verdict::broken);
}

TEST(HttpWorker, KeepsTheInputOfABrokenRequestUntilItAnswersAProbe) {
    Stand stand;
    stand.send(0);
    EXPECT_THAT(stand.worker->suspects(), SizeIs(1)) << "aboard";
    stand.heard(1).hang_up();
    stand.wait([&] { return stand.verdict(0).has_value(); });
    EXPECT_EQ(stand.verdict(0), Verdict::broken);
    stand.exchanges.close(stand.exchanges.find(JobId{0}));  // as the gate does when the job ends
    ASSERT_THAT(stand.worker->suspects(), SizeIs(1)) << "the exit may come later";
    EXPECT_EQ(stand.worker->suspects()[0]->target, "/job");

    stand.worker->probe(1);
    stand.heard(2).say("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n");
    stand.wait([&] { return !stand.probes(ProbeVerdict::silent).empty(); });
    EXPECT_THAT(stand.worker->suspects(), SizeIs(1));
    stand.worker->probe(2);
    stand.heard(3).say(answer_200);
    stand.wait([&] { return !stand.probes(ProbeVerdict::answered).empty(); });
    EXPECT_THAT(stand.worker->suspects(), IsEmpty()) << "it did not die of it";
}

// ── probes ───────────────────────────────────────────────────────────────────────────────────────

TEST(HttpWorker, LetsAnAnswerCountOnlyForItsOwnProbe) {
    Stand stand;
    stand.worker->probe(1);
    ScriptedWorker::Visit& first = stand.heard(1);
    first.say(answer_200);   // on its way, but not read yet
    stand.worker->probe(2);  // for example after a cancelled job
    ScriptedWorker::Visit& second = stand.heard(2);
    stand.wait([&] { return first.is_over; });
    EXPECT_THAT(stand.events, IsEmpty()) << "the first probe is forgotten";
    second.say(answer_200);
    stand.wait([&] { return !stand.events.empty(); });
    EXPECT_THAT(stand.probes(ProbeVerdict::answered), ElementsAre(2));
}

TEST(HttpWorker, ProbesWhileJobsAreAboard) {
    Stand stand;
    stand.send(0);
    stand.heard(1);
    stand.worker->probe(7);
    stand.heard(2).say(answer_200);
    stand.wait([&] { return !stand.events.empty(); });
    EXPECT_THAT(stand.probes(ProbeVerdict::answered), ElementsAre(7));
}

}  // namespace
}  // namespace turnpike
