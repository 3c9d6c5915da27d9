// How clients answer HashJob.
#include "sim/clients.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/plan.h"

namespace turnpike::sim {
namespace {

/// Clients whose arrivals are all admitted. The ticket of a client is the id of its job.
class ClientsTest : public testing::Test {
protected:
    void arrive(std::uint64_t key, const JobScript& script) {
        clients_.arrive(key, script);
        run();
    }

    void run() {
        while (stage_.step(never, stage_.now() + 1min)) {
        }
    }

    std::optional<Digest> hash(std::uint64_t key) {
        digest_.reset();
        clients_.carry_out(HashJob{JobId{key}});
        run();
        return digest_;
    }

    void take(const Event& event) {
        if (const auto* job = std::get_if<JobArrived>(&event))
            clients_.carry_out(AdmitJob{.ticket = job->ticket, .job = JobId{job->ticket.value}});
        if (const auto* hashed = std::get_if<JobHashed>(&event)) digest_ = hashed->digest;
    }

    Plan plan_;
    Stage stage_{plan_, [this](const Event& event) { take(event); }};
    Clients clients_{stage_};
    std::optional<Digest> digest_;
};

TEST_F(ClientsTest, HashEqualContentsToEqualDigests) {
    const JobScript first{.pool = PoolId{0}, .total = Bytes{10}, .content = 3};
    JobScript again = first;
    again.priority = Priority{9};
    arrive(1, first);
    arrive(2, again);
    const std::optional<Digest> digest = hash(1);
    ASSERT_TRUE(digest.has_value());
    EXPECT_EQ(hash(2), digest);
}

TEST_F(ClientsTest, HashDifferentContentsOfOneLengthToDifferentDigests) {
    const std::vector<JobScript> scripts{{.total = Bytes{10}},
                                         {.total = Bytes{10}},
                                         {.total = Bytes{10}, .content = 1},
                                         {.total = Bytes{10}, .content = 2},
                                         {.total = Bytes{10}, .content = 3}};
    std::vector<Digest> digests;
    for (std::uint64_t key = 0; key < scripts.size(); ++key) {
        arrive(key, scripts[key]);
        digests.push_back(hash(key).value());
    }
    for (std::size_t i = 0; i < digests.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) EXPECT_NE(digests[i], digests[j]) << i << " and " << j;
    EXPECT_EQ(digests[2].high, digests[4].high) << "one half is common to jobs of one length";
}

TEST_F(ClientsTest, HashAJobThatEndsMeanwhile) {
    const JobScript script{.total = Bytes{10}};
    arrive(1, script);
    clients_.carry_out(HashJob{JobId{1}});
    clients_.carry_out(EndJob{.job = JobId{1}, .reason = EndReason::poison});
    run();
    EXPECT_TRUE(digest_.has_value());
    EXPECT_FALSE(stage_.complaint().has_value());
}

TEST_F(ClientsTest, ComplainIfAJobIsHashedBeforeItsBodyIsThere) {
    const JobScript script{.total = Bytes{10}, .upload = 1h, .stalls = true};
    arrive(1, script);
    EXPECT_FALSE(hash(1).has_value());
    EXPECT_TRUE(stage_.complaint().has_value());
}

TEST_F(ClientsTest, ComplainIfAJobIsHashedAfterItsEnd) {
    const JobScript script{.total = Bytes{10}};
    arrive(1, script);
    clients_.carry_out(EndJob{.job = JobId{1}});
    EXPECT_FALSE(hash(1).has_value());
    EXPECT_TRUE(stage_.complaint().has_value());
}

}  // namespace
}  // namespace turnpike::sim
