#include "core/share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using test::settings_with;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Shares, AreOpenToAllBelowNineTenths) {
    EXPECT_TRUE((Common{.whole = 100, .taken = 89}.is_open_to_all(1)));
    EXPECT_FALSE((Common{.whole = 100, .taken = 90}.is_open_to_all(1)));
    EXPECT_TRUE((Common{.whole = 8, .taken = 7}.is_open_to_all(1))) << "7 is less than 7.2";
    EXPECT_FALSE((Common{.whole = 100, .taken = 50}.is_open_to_all(51)));
    EXPECT_FALSE((Common{.whole = 100, .taken = 50}.is_open_to_all(~std::uint64_t{0})));
}

TEST(Shares, GoToWhoHasLessThanHisPartAboveThat) {
    const Common common{.whole = 100, .taken = 90};
    EXPECT_TRUE(common.has_room_in_share(1, 33, 2))
        << "33.3 is a third: one part is for a third client";
    EXPECT_FALSE(common.has_room_in_share(1, 34, 2));
    EXPECT_FALSE(common.has_room_in_share(1, 90, 1)) << "nobody takes the last tenth alone";
    EXPECT_TRUE(common.has_room_in_share(5, 33, 2));
    EXPECT_FALSE(common.has_room_in_share(6, 33, 2)) << "the last twentieth is for newcomers";
    EXPECT_TRUE(common.has_room_in_share(10, 0, 2));
    EXPECT_FALSE(common.has_room_in_share(11, 0, 2));
    EXPECT_TRUE((Common{.whole = 2, .taken = 1}.has_room_in_share(1, 0, 7))) << "none is less";
}

TEST(Shares, KeepATenthOfTheQueueForTheOthers) {
    Gate gate({.lanes = 1, .queue_jobs_max = 10});
    gate.queue_job({.client = 2});
    for (int i = 0; i < 8; ++i) gate.queue_job({.client = 1});
    EXPECT_EQ(gate.refusal(), std::nullopt) << "below the line one may have most";
    gate.arrive({.client = 1});
    EXPECT_EQ(gate.refusal(), EndReason::queue_full);
    gate.arrive({.client = 2});
    EXPECT_EQ(gate.refusal(), EndReason::queue_full) << "the last place is for a newcomer";
    gate.arrive({.client = 3});
    EXPECT_EQ(gate.refusal(), std::nullopt);
    gate.arrive({.client = 4});
    EXPECT_EQ(gate.refusal(), EndReason::queue_full) << "now all places are taken";
}

TEST(Shares, KeepRoomForTheNextHoweverManyGreedyClientsCame) {
    Settings settings = settings_with({{.lanes = 1, .queue_jobs_max = 200}});
    settings.arriving_max = 100;
    settings.bytes_max = Bytes{10'000};
    for (const std::uint64_t greedy : {1U, 2U, 3U, 4U}) {
        for (const bool is_upload : {true, false}) {
            Gate gate(settings);
            const auto take_all = [&](std::uint64_t client) {
                for (int i = 0; i < 300; ++i) {
                    const test::Request request{.bytes = Bytes{60}, .client = client};
                    is_upload ? gate.arrive(request) : gate.queue_job(request);
                }
            };
            for (std::uint64_t client = 1; client <= greedy; ++client) take_all(client);
            gate.arrive({.bytes = Bytes{60}, .client = 9});
            EXPECT_EQ(gate.refusal(), std::nullopt) << greedy << " greedy clients came first";
        }
    }
}

TEST(Shares, KeepATenthOfTheUploadsForTheOthers) {
    Settings settings = settings_with({{.lanes = 1}});
    settings.arriving_max = 10;
    Gate gate(settings);
    gate.arrive({.client = 2});
    for (int i = 0; i < 8; ++i) gate.arrive({.client = 1});
    EXPECT_EQ(gate.refusal(), std::nullopt);
    gate.arrive({.client = 1});
    EXPECT_EQ(gate.refusal(), EndReason::arrivals_full);
    gate.arrive({.client = 3});
    EXPECT_EQ(gate.refusal(), std::nullopt);
}

TEST(Shares, KeepRoomForWhoComesWhenOneClientHasTakenAllThatItMay) {
    Settings settings = settings_with({{.lanes = 1, .queue_jobs_max = 10}});
    settings.arriving_max = 20;
    settings.bytes_max = Bytes{1000};
    Gate gate(settings);
    for (int i = 0; i < 9; ++i) gate.arrive({.bytes = Bytes{100}, .client = 1});
    EXPECT_EQ(gate.refusal(), std::nullopt);
    gate.arrive({.bytes = Bytes{100}, .client = 1});
    EXPECT_EQ(gate.refusal(), EndReason::queue_full);
    gate.arrive({.bytes = Bytes{100}, .is_aside = true, .client = 1});
    EXPECT_EQ(gate.refusal(), EndReason::bytes_full);
    gate.arrive({.bytes = Bytes{100}, .client = 2});
    EXPECT_EQ(gate.refusal(), std::nullopt);
}

// ── bytes ────────────────────────────────────────────────────────────────────────────────────────

Bytes mebibytes(std::uint64_t count) { return Bytes{count * mebibyte.count}; }

TEST(Shares, CountAnnouncedBytesUpToAMebibyteThenAsTheyCome) {
    Gate gate({.lanes = 1});
    const JobId job = gate.arrive({.bytes = mebibytes(64)});
    EXPECT_EQ(gate.view().bytes_held, mebibytes(1));
    EXPECT_EQ(gate.client(0).bytes, mebibytes(1));
    gate.tell(BodyGrew{job, mebibytes(1)});
    EXPECT_EQ(gate.view().bytes_held, mebibytes(1)) << "these were counted";
    gate.tell(BodyGrew{job, mebibytes(3)});
    EXPECT_EQ(gate.view().bytes_held, mebibytes(3));
}

TEST(Shares, RefuseWhatCanNotFitBeforeItIsSent) {
    Settings settings = settings_with({{.lanes = 1}});
    settings.bytes_max = mebibytes(10);
    Gate gate(settings);
    gate.arrive({.bytes = mebibytes(8), .client = 1});
    gate.arrive({.bytes = mebibytes(10), .client = 2});
    EXPECT_EQ(gate.refusal(), EndReason::bytes_full);
    gate.arrive({.bytes = mebibytes(9), .client = 2});
    EXPECT_EQ(gate.refusal(), std::nullopt) << "of the first only one MiB has come";
}

TEST(Shares, LetOneBodyBeLargerThanAShare) {
    Settings settings = settings_with({{.lanes = 1}});
    settings.bytes_max = mebibytes(10);
    Gate gate(settings);
    const JobId job = gate.arrive({.bytes = mebibytes(10), .client = 1});
    for (const std::uint64_t size : {5U, 9U, 10U}) gate.tell(BodyGrew{job, mebibytes(size)});
    EXPECT_EQ(gate.view().bytes_held, mebibytes(10));
    gate.tell(BodyCompleted{job, mebibytes(10)});
    EXPECT_TRUE(gate.is_queued(job));
}

TEST(Shares, AdmitWhatIsAClientsDueWhileUploadsOfOthersAreInTheWay) {
    Settings settings = settings_with({{.lanes = 1}});
    settings.bytes_max = mebibytes(30);
    Gate gate(settings);
    std::vector<JobId> greedy;
    for (int i = 0; i < 27; ++i)
        greedy.push_back(gate.arrive({.bytes = mebibytes(3), .client = 1}));
    EXPECT_EQ(gate.refusal(), std::nullopt);
    const JobId due = gate.arrive({.bytes = mebibytes(10), .client = 2});
    EXPECT_EQ(gate.refusal(), std::nullopt) << "a third of 30";
    gate.arrive({.bytes = mebibytes(10), .client = 2});
    EXPECT_EQ(gate.refusal(), EndReason::bytes_full) << "more than its due";
    for (std::uint64_t size = 2; size <= 10; ++size) gate.tell(BodyGrew{due, mebibytes(size)});
    EXPECT_EQ(gate.client(2).bytes, mebibytes(10));
    EXPECT_EQ(gate.client(1).bytes, mebibytes(20));
}

TEST(Shares, AdmitNoDueForWhichCompleteBodiesLeaveNoRoom) {
    Settings settings = settings_with({{.lanes = 1, .queue_jobs_max = 100}});
    settings.bytes_max = mebibytes(30);
    Gate gate(settings);
    for (int i = 0; i < 27; ++i) gate.queue_job({.bytes = mebibytes(1), .client = 1});
    gate.arrive({.bytes = mebibytes(4), .client = 2});
    EXPECT_EQ(gate.refusal(), EndReason::bytes_full);
    gate.arrive({.bytes = mebibytes(3), .client = 2});
    EXPECT_EQ(gate.refusal(), std::nullopt);
}

/// Client 1 has two uploads of four MiB each, and the first is slower. Client 2 has one of one MiB.
struct FullGate {
    Gate gate;
    JobId slow;
    JobId fast;
    JobId honest;

    static Settings settings() {
        Settings settings = settings_with({{.lanes = 1}});
        settings.bytes_max = mebibytes(9);
        return settings;
    }
    FullGate() : gate(settings()) {
        slow = gate.arrive({.bytes = mebibytes(6), .client = 1});
        gate.pass(2s);
        fast = gate.arrive({.bytes = mebibytes(6), .client = 1});
        honest = gate.arrive({.bytes = mebibytes(2), .client = 2});
        gate.pass(1s);
        gate.tell(BodyGrew{slow, mebibytes(4)});
        gate.tell(BodyGrew{fast, mebibytes(4)});
    }
};

TEST(Shares, EndTheSlowestUploadOfWhoHoldsMostIfABodyDoesNotFit) {
    FullGate full;
    full.gate.tell(BodyGrew{full.honest, mebibytes(2)});
    EXPECT_THAT(full.gate.deeds(), ElementsAre("end j0 crowded_out"));
    EXPECT_GT(full.gate.acts<EndJob>().front().retry_after, 0s);
    EXPECT_EQ(full.gate.view().bytes_held, mebibytes(6));
    EXPECT_EQ(full.gate.client(1).refused, 1U);
}

TEST(Shares, EndTheUploadThatGrowsIfItIsTheSlowestItself) {
    FullGate full;
    full.gate.tell(BodyGrew{full.slow, mebibytes(5)});
    EXPECT_THAT(full.gate.deeds(), ElementsAre("end j0 bytes_full"));
}

TEST(Shares, EndNoOtherUploadForABodyThatCanNeverFit) {
    FullGate full;
    full.gate.tell(BodyGrew{full.honest, mebibytes(10)});
    EXPECT_THAT(full.gate.deeds(), ElementsAre("end j2 bytes_full"));
}

TEST(Shares, EndNoUploadThatIsComplete) {
    FullGate full;
    full.gate.tell(BodyCompleted{full.slow, mebibytes(4)});
    full.gate.tell(BodyGrew{full.honest, mebibytes(2)});
    EXPECT_THAT(full.gate.deeds(), ElementsAre("end j1 crowded_out"));
}

// ── limits of one client ─────────────────────────────────────────────────────────────────────────

TEST(Shares, LimitTheJobsOfAClient) {
    Gate gate(settings_with({{.lanes = 1}, {.lanes = 1}}));
    gate.open();
    const ClientLimits limits{.jobs_max = 2};
    const JobId running = gate.queue_job({.client = 1, .limits = limits});
    gate.arrive({.pool = 1, .client = 1, .limits = limits});
    gate.arrive({.client = 1, .limits = limits});
    EXPECT_EQ(gate.refusal(), EndReason::client_limit) << "all pools and states count";
    gate.arrive({.client = 2});
    EXPECT_EQ(gate.refusal(), std::nullopt);
    gate.ends(running);
    gate.arrive({.client = 1, .limits = limits});
    EXPECT_EQ(gate.refusal(), std::nullopt);
}

TEST(Shares, LimitTheBytesOfAClient) {
    Gate gate({.lanes = 1});
    const ClientLimits limits{.bytes_max = Bytes{100}};
    const JobId job = gate.arrive({.bytes = Bytes{60}, .client = 1, .limits = limits});
    gate.arrive({.bytes = Bytes{41}, .client = 1, .limits = limits});
    EXPECT_EQ(gate.refusal(), EndReason::client_limit);
    gate.tell(BodyGrew{job, Bytes{100}});
    EXPECT_THAT(gate.deeds(), IsEmpty());
    gate.tell(BodyCompleted{job, Bytes{101}});
    EXPECT_EQ(gate.ended(job), EndReason::client_limit);
}

TEST(Shares, RefuseAClientBeyondTheLastNumber) {
    Gate gate({.lanes = 1});
    gate.arrive({.client = clients_max});
    EXPECT_EQ(gate.refusal(), EndReason::client_limit);
    gate.arrive({.client = clients_max - 1});
    EXPECT_EQ(gate.refusal(), std::nullopt);
}

TEST(Shares, ShowWhatAClientHas) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.queue_job({.client = 1});
    gate.queue_job({.client = 1});
    gate.arrive({.client = 1});
    gate.pass(3s);
    gate.queue_job({.client = 2});
    const ClientView one = gate.client(1);
    EXPECT_EQ(one.running, 1U);
    EXPECT_EQ(one.queued, 1U);
    EXPECT_EQ(one.uploads, 1U);
    EXPECT_EQ(one.bytes, Bytes{30});
    EXPECT_EQ(one.oldest_wait, 3s);
    EXPECT_EQ(gate.client(2).oldest_wait, 0s);
    EXPECT_EQ(gate.pool().clients_waiting, 2U);
}

TEST(Shares, ForgetAClientOnlyWhenItHasNoJobs) {
    Gate gate({.lanes = 1});
    gate.open();
    gate.arrive({.lane = 7, .client = 1});
    ASSERT_EQ(gate.client(1).refused, 1U);
    const JobId job = gate.queue_job({.client = 1});
    gate.tell(ClientForgotten{ClientId{1}});
    EXPECT_EQ(gate.client(1).refused, 1U) << "a job of it lives";
    gate.ends(job);
    gate.tell(ClientForgotten{ClientId{1}});
    EXPECT_EQ(gate.client(1).refused, 0U);
    gate.tell(ClientForgotten{ClientId{500}});
}

}  // namespace
}  // namespace turnpike
