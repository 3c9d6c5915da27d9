#include "config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine.h"
#include "tests/unit/config/mistakes.h"

namespace turnpike {
namespace {

using test::after_pool;
using test::one_pool;

Config parsed(std::string_view text) {
    auto config = parse_config(text, "t.toml");
    if (config) return std::move(*config);
    for (const std::string& line : test::lines_of(config)) ADD_FAILURE() << line;
    return {.pools = {PoolConfig{}}};
}

TEST(Config, OnePoolIsEnoughAndTheRestIsDefault) {
    const Config config = parsed(one_pool);
    EXPECT_EQ(config.gate, GateConfig{});
    EXPECT_EQ(config.log, LogConfig{});
    EXPECT_EQ(config.bytes_max, gibibyte);
    EXPECT_EQ(config.arriving_max, 256U);
    EXPECT_EQ(config.load_parallel_max, 0U);
    ASSERT_EQ(config.pools.size(), 1U);
    const PoolConfig& pool = config.pools.front();
    EXPECT_EQ(pool.name, "a");
    EXPECT_EQ(pool.attach, (std::vector<WorkerUrl>{{"http://h:1", "h", 1, ""}}));
    EXPECT_FALSE(pool.is_default);
    EXPECT_EQ(pool.settings.lanes, 1U);
    EXPECT_EQ(pool.settings.ownership, Ownership::attached);
    EXPECT_EQ(pool.settings.proof, ProofKind::none);
    EXPECT_EQ(pool.settings.cancel, CancelPolicy::finish);
}

TEST(Config, TheGateIsAsTheFileSays) {
    const GateConfig gate = parsed(after_pool(R"(
[gate]
listen = "[::]:0"
body_max = 4096
answer_buffer = "1MiB"
answers_max = "3MiB"
spool = "/data/spool"
connections_max = 5
idle_timeout = "1s"
head_timeout = "2s"
body_rate_min = 0
answer_rate_min = "1KiB"
rate_window = "3s"
allowed_hosts = ["Box.example", "[::2]"]
allowed_origins = ["https://Page.example"]
trusted_proxies = ["10.0.0.0/8", "unix", "::1"]
shutdown_patience = "0s"
)"))
                                .gate;
    EXPECT_EQ(gate, (GateConfig{.listen = {"::", 0},
                                .body_max = Bytes{4096},
                                .answer_buffer = mebibyte,
                                .answers_max = Bytes{3 * mebibyte.count},
                                .spool = "/data/spool",
                                .connections_max = 5,
                                .idle_timeout = 1s,
                                .head_timeout = 2s,
                                .body_rate_min = Bytes{0},
                                .answer_rate_min = kibibyte,
                                .rate_window = 3s,
                                .allowed_hosts = {"box.example", "::2"},
                                .allowed_origins = {"https://page.example"},
                                .trusted_proxies = {.networks = {*parse_network("10.0.0.0/8"),
                                                                 *parse_network("::1")},
                                                    .unix_socket = true},
                                .shutdown_patience = 0s}));
}

TEST(Config, TheLogIsAsTheFileSays) {
    const LogConfig log = parsed(after_pool(R"(
[log]
jobs = "-"
size_max = "1MiB"
keep = 0
starts = true
lane_size_max = "64KiB"
lane_keep = 0
)"))
                              .log;
    EXPECT_EQ(log, (LogConfig{.jobs = "-",
                              .size_max = mebibyte,
                              .keep = 0,
                              .starts = true,
                              .lane_size_max = Bytes{65536},
                              .lane_keep = 0}));
}

TEST(Config, WhatIsKeptOfCrashesIsAsTheFileSays) {
    const CrashConfig crashes = parsed(after_pool(R"(
[crashes]
keep = 0
inputs = false
input_max = "1MiB"
)"))
                                    .crashes;
    EXPECT_EQ(crashes, (CrashConfig{.keep = 0, .inputs = false, .input_max = mebibyte}));
}

TEST(Config, TheQueueIsOfEveryPoolAndPartlyOfTheGate) {
    const Config config = parsed(R"(
load_parallel = 3
[pool.b]
attach = ["http://h:1"]
[pool.a]
attach = ["http://h:2"]
[queue]
jobs_max = 7
bytes_max = "2GiB"
wait_max = "5m"
arriving_max = 9
age_step = "1s"
)");
    const Settings settings = engine_settings(config, 42);
    EXPECT_EQ(settings.bytes_max, Bytes{2 * gibibyte.count});
    EXPECT_EQ(settings.arriving_max, 9U);
    EXPECT_EQ(settings.load_parallel_max, 3U);
    EXPECT_EQ(settings.seed, 42U);
    ASSERT_EQ(settings.pools.size(), 2U);
    for (const PoolSettings& pool : settings.pools) {
        EXPECT_EQ(pool.queue_jobs_max, 7U);
        EXPECT_EQ(pool.queue_wait_max, 5min);
        EXPECT_EQ(pool.age_step, 1s);
    }
}

TEST(Config, PoolsKeepTheOrderOfTheFile) {
    const Config config = parsed(R"(
[pool.b]
attach = ["http://h:1"]
[pool."a.2"]
attach = ["http://h:2"]
default = true
)");
    ASSERT_EQ(config.pools.size(), 2U);
    EXPECT_EQ(config.pools[0].name, "b");
    EXPECT_EQ(config.pools[1].name, "a.2");
    EXPECT_TRUE(config.pools[1].is_default);
}

TEST(Config, APoolIsAsTheFileSays) {
    const PoolConfig pool = parsed(R"(
[pool.a]
attach = ["http://h:1", "http://h:1/x"]
models = ["m", "n"]
slots = 64
aside = ["GET /v1/models", "GET /static/*"]
aside_max = 0
job_timeout = "1m"
cancel = "finish"
cancel_grace = "1s"
abandon_after = "2m"
retry = false
poison_keep = "0s"
fail_streak = 5
health.path = "/healthz?deep=1"
health.every = "3s"
health.timeout = "1s"
health.failures = 4
restart_delay_min = "1s"
restart_delay_max = "2s"
restart_good_run = "3s"
slow_factor = 3
slow_min = "4s"
)")
                                .pools.front();
    const PoolSettings& settings = pool.settings;
    EXPECT_EQ(settings.lanes, 2U);
    EXPECT_EQ(pool.models, (std::vector<std::string>{"m", "n"}));
    EXPECT_EQ(settings.slots, 64U);
    EXPECT_EQ(pool.aside, (std::vector<AsideRule>{{"GET", "/v1/models"}, {"GET", "/static/*"}}));
    EXPECT_EQ(settings.aside_max, 0U);
    EXPECT_EQ(settings.job_timeout, 1min);
    EXPECT_EQ(settings.cancel, CancelPolicy::finish);
    EXPECT_EQ(settings.cancel_grace, 1s);
    EXPECT_EQ(settings.abandon_after, 2min);
    EXPECT_FALSE(settings.may_retry);
    EXPECT_EQ(settings.poison_keep, 0s);
    EXPECT_EQ(settings.fail_streak, 5U);
    EXPECT_EQ(pool.health_path, "/healthz?deep=1");
    EXPECT_EQ(settings.probe_every, 3s);
    EXPECT_EQ(settings.probe_timeout, 1s);
    EXPECT_EQ(settings.probe_failures_max, 4U);
    EXPECT_EQ(settings.restart_delay_min, 1s);
    EXPECT_EQ(settings.restart_delay_max, 2s);
    EXPECT_EQ(settings.restart_good_run, 3s);
    EXPECT_EQ(settings.slow_factor, 3U);
    EXPECT_EQ(settings.slow_min, 4s);
}

TEST(Config, WithSeveralSlotsACancelledJobIsClosed) {
    EXPECT_EQ(parsed(after_pool("slots = 2")).pools[0].settings.cancel, CancelPolicy::close);
}

TEST(Config, AProofMayExpectBytes) {
    const PoolConfig pool = parsed(after_pool(R"(
[pool.a.proof]
request = "GET /version?x"
content_type = ""
body = "b"
status = 404
expect = "none\n"
every = "1m"
timeout = "7s"
)"))
                                .pools.front();
    EXPECT_EQ(pool.settings.proof, ProofKind::fixed);
    EXPECT_EQ(pool.settings.proof_every, 1min);
    EXPECT_EQ(pool.settings.proof_timeout, 7s);
    EXPECT_EQ(pool.proof, (ProofConfig{.method = "GET",
                                       .path = "/version?x",
                                       .content_type = "",
                                       .body = "b",
                                       .status = 404,
                                       .compare = Compare::exact,
                                       .expected = "none\n"}));
}

TEST(Config, AProofMayExpectJsonWithinTolerances) {
    const PoolConfig pool = parsed(after_pool(R"(
proof.expect_json = '{"x": 1}'
proof.tolerance_absolute = 1
proof.tolerance_relative = 1e-3
)"))
                                .pools.front();
    EXPECT_EQ(pool.settings.proof, ProofKind::fixed);
    EXPECT_EQ(pool.proof, (ProofConfig{.compare = Compare::json,
                                       .expected = R"({"x": 1})",
                                       .tolerance_absolute = 1,
                                       .tolerance_relative = 1e-3}));
}

TEST(Config, LanesThatAgreeAreComparedAsJsonOnlyWithATolerance) {
    const std::string agree = after_pool("proof.agree = true\n");
    const PoolConfig exact = parsed(agree).pools.front();
    EXPECT_EQ(exact.settings.proof, ProofKind::agree);
    EXPECT_EQ(exact.proof.compare, Compare::exact);
    const PoolConfig near = parsed(agree + "proof.tolerance_relative = 0.1").pools.front();
    EXPECT_EQ(near.proof.compare, Compare::json);
}

TEST(Config, TheEngineAcceptsEveryCheckedConfiguration) {
    const std::string extremes = after_pool(R"(
slots = 1024
fail_streak = 1
health.every = "10ms"
health.failures = 1
restart_delay_min = "1ms"
restart_delay_max = "1ms"
proof = { agree = true, every = "1s" }
)");
    const Engine engine(engine_settings(parsed(extremes), 1));  // CHECKs its settings
    EXPECT_EQ(engine.next_deadline(), never);
}

}  // namespace
}  // namespace turnpike
