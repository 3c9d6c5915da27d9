// Pools whose workers Turnpike starts: their keys, and mistakes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/placeholders.h"
#include "core/engine.h"
#include "tests/unit/config/mistakes.h"

namespace turnpike {
namespace {

using test::after_started;
using test::mistakes_in;
using test::mistakes_of_pool;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

PoolConfig parsed(std::string_view text) {
    auto config = parse_config(text, "t.toml");
    if (config) return std::move(config->pools.front());
    for (const std::string& line : test::lines_of(config)) ADD_FAILURE() << line;
    return {};
}

std::vector<std::string> mistakes_after_started(std::string_view lines) {
    return mistakes_in(after_started(lines));
}

std::vector<std::string> mistakes_of_command(const std::string& command) {
    return mistakes_in("[pool.a]\nworker = " + command + "\n");
}

// ── what they say ────────────────────────────────────────────────────────────────────────────────

TEST(StartedPool, NeedsACommandAndTheRestIsDefault) {
    const PoolConfig pool = parsed(test::one_started);
    EXPECT_TRUE(pool.is_started());
    EXPECT_EQ(pool.worker, WorkerConfig{.command = "x {port}"});
    EXPECT_THAT(pool.attach, IsEmpty());
    EXPECT_EQ(pool.settings.ownership, Ownership::owned);
    EXPECT_EQ(pool.settings.load_timeout, 30min);
    EXPECT_EQ(pool.settings.crash_limit, 5U);
    EXPECT_EQ(pool.settings.revive_every, 5min);
    EXPECT_EQ(pool.settings.abandon_after, 0s);
    EXPECT_EQ(pool.settings.poison_keep, 10min);
    EXPECT_EQ(pool.settings.cancel, CancelPolicy::finish);
}

TEST(StartedPool, IsAsTheFileSays) {
    const PoolConfig pool = parsed(R"(
[pool.a]
worker = "serve --uds {socket} --name {lane}"
gpus = [0, "1", "GPU-8f6a", "MIG-11aa"]
gpus_per_lane = 2
lanes = 64
pin = "uuid"
env = { HF_HOME = "/data/hf", _x1 = "two\nlines" }
load_timeout = "1m"
crash_limit = 16
crash_window = "2m"
revive_every = "90s"
stop_grace = "3s"
kill_patience = "4s"
cancel = "kill"
)");
    EXPECT_EQ(pool.worker, (WorkerConfig{.command = "serve --uds {socket} --name {lane}",
                                         .gpus = {.kind = GpuChoice::Kind::listed,
                                                  .listed = {"0", "1", "GPU-8f6a", "MIG-11aa"}},
                                         .gpus_per_lane = 2,
                                         .lanes = 64,
                                         .pin = Pin::uuid,
                                         .env = {{"HF_HOME", "/data/hf"}, {"_x1", "two\nlines"}}}));
    EXPECT_EQ(pool.settings.load_timeout, 1min);
    EXPECT_EQ(pool.settings.crash_limit, 16U);
    EXPECT_EQ(pool.settings.crash_window, 2min);
    EXPECT_EQ(pool.settings.revive_every, 90s);
    EXPECT_EQ(pool.settings.stop_grace, 3s);
    EXPECT_EQ(pool.settings.kill_patience, 4s);
    EXPECT_EQ(pool.settings.cancel, CancelPolicy::kill);
}

TEST(StartedPool, MayHaveItsEnvironmentInATableOfItsOwn) {
    const PoolConfig pool = parsed(after_started("[pool.a.env]\nB = \"2\"\nA = \"\"\n"));
    EXPECT_THAT(pool.worker.env, ElementsAre(std::pair("B", "2"), std::pair("A", "")));
}

TEST(StartedPool, NamesItsGpusByAWord) {
    EXPECT_EQ(parsed(test::one_started).worker.gpus.kind, GpuChoice::Kind::unset);
    EXPECT_EQ(parsed(after_started("gpus = \"all\"")).worker.gpus.kind, GpuChoice::Kind::all);
    EXPECT_EQ(parsed(after_started("gpus = \"none\"")).worker.gpus.kind, GpuChoice::Kind::none);
    EXPECT_EQ(parsed(after_started("pin = \"none\"")).worker.pin, Pin::none);
    EXPECT_EQ(parsed(after_started("pin = \"index\"")).worker.pin, Pin::index);
}

TEST(StartedPool, IsAcceptedByTheEngine) {
    auto config = parse_config(after_started("cancel = \"kill\"\ncrash_limit = 1\n"
                                             "crash_window = \"1s\"\nstop_grace = \"1ms\"\n"
                                             "kill_patience = \"100ms\"\n"),
                               "t.toml");
    ASSERT_THAT(test::lines_of(config), IsEmpty());
    const Engine engine(engine_settings(*config, 1));  // CHECKs its settings
    EXPECT_EQ(engine.next_deadline(), never);
}

// ── mistakes ─────────────────────────────────────────────────────────────────────────────────────

TEST(StartedPoolMistakes, ACommandSaysWhereItsWorkerListens) {
    EXPECT_THAT(mistakes_of_command(R"("uvicorn app:app")"),
                ElementsAre(StartsWith("t.toml:2: pool.a.worker: \"uvicorn app:app\" must contain "
                                       "{port} (or {socket})")));
    for (const char* command : {R"("")", R"("x ${port}")", R"("x {PORT}")", R"("x { port }")"})
        EXPECT_THAT(mistakes_of_command(command), ElementsAre(HasSubstr("must contain {port}")))
            << command;
    EXPECT_THAT(mistakes_of_command(R"("x {port} {socket}")"),
                ElementsAre(HasSubstr("has both {port} and {socket}")));
    EXPECT_THAT(mistakes_of_command(R"("x {port} {port}")"), IsEmpty());
    EXPECT_THAT(mistakes_of_command(R"('x {"a": {port}}')"), IsEmpty());
}

TEST(StartedPoolMistakes, ACommandIsOneLineOfBoundedLength) {
    EXPECT_THAT(mistakes_of_command(R"("x {port}\nrm y")"),
                ElementsAre(HasSubstr("has a line break or another control character")));
    EXPECT_THAT(mistakes_of_command(R"("x {port}\u0000")"),
                ElementsAre(HasSubstr("control character")));
    EXPECT_THAT(mistakes_of_command('"' + std::string(16'384, 'x') + "{port}\""),
                ElementsAre(HasSubstr("is longer than 16KiB")));
    EXPECT_THAT(mistakes_of_command("7"), ElementsAre(HasSubstr("must be a string")));
}

TEST(StartedPoolMistakes, APoolIsEitherStartedOrAttachedTo) {
    EXPECT_THAT(mistakes_of_pool("worker = \"x {port}\""),
                ElementsAre(StartsWith("t.toml:3: pool.a.worker: a pool has either")));
    EXPECT_THAT(mistakes_in("[pool.a]\nslots = 2\n"),
                ElementsAre(StartsWith("t.toml:1: pool.a: has no workers: set model = ")));
    EXPECT_THAT(mistakes_after_started("attach = []"), IsEmpty());
}

TEST(StartedPoolMistakes, KeysOfStartedWorkersMeanNothingForAttachedOnes) {
    const auto meaningless = [](int line, const std::string& key) {
        return StartsWith("t.toml:" + std::to_string(line) + ": pool.a." + key +
                          ": has no meaning for attached workers");
    };
    EXPECT_THAT(
        mistakes_of_pool("gpus = \"none\"\ngpus_per_lane = 1\nlanes = 2\npin = \"index\"\n"
                         "env = {}\nload_timeout = \"1m\"\ncrash_limit = 1\n"
                         "crash_window = \"1m\"\nrevive_every = \"1m\"\nstop_grace = \"1s\"\n"
                         "kill_patience = \"1s\"\n"),
        ElementsAre(meaningless(3, "gpus"), meaningless(4, "gpus_per_lane"),
                    meaningless(5, "lanes"), meaningless(6, "pin"), meaningless(7, "env"),
                    meaningless(8, "load_timeout"), meaningless(9, "crash_limit"),
                    meaningless(10, "crash_window"), meaningless(11, "revive_every"),
                    meaningless(12, "stop_grace"), meaningless(13, "kill_patience")));
}

TEST(StartedPoolMistakes, AWorkerIsKilledForAJobThatIsAlone) {
    EXPECT_THAT(mistakes_after_started("cancel = \"kill\""), IsEmpty());
    EXPECT_THAT(mistakes_after_started("cancel = \"kill\"\nslots = 2"),
                ElementsAre(StartsWith("t.toml:3: pool.a.cancel: \"kill\" needs slots = 1")));
}

TEST(StartedPoolMistakes, GpusAreAWordOrAListOfNames) {
    for (const char* value : {"0", "\"0\"", "true", "{}", "\"some\""})
        EXPECT_THAT(mistakes_after_started("gpus = " + std::string(value)),
                    ElementsAre(StartsWith("t.toml:3: pool.a.gpus: must be \"all\", \"none\"")))
            << value;
    EXPECT_THAT(mistakes_after_started("gpus = []"), ElementsAre(HasSubstr("is an empty list")));
    EXPECT_THAT(
        mistakes_after_started("gpus = [0,\n-1,\n\"x\", \"0,1\",\n1.5, 99999,\n\"GPU-a b\"]"),
        ElementsAre(StartsWith("t.toml:4: pool.a.gpus: \"-1\" is not a GPU: use an index"),
                    StartsWith("t.toml:5: pool.a.gpus: \"x\" is not a GPU"),
                    StartsWith("t.toml:5: pool.a.gpus: \"0,1\" is not a GPU"),
                    "t.toml:6: pool.a.gpus: must be an index or a UUID, not a number",
                    StartsWith("t.toml:6: pool.a.gpus: \"99999\" is not a GPU"),
                    StartsWith("t.toml:7: pool.a.gpus: \"GPU-a b\" is not a GPU")));
}

TEST(StartedPoolMistakes, OfTheEnvironmentHaveTheirOwnLines) {
    EXPECT_THAT(
        mistakes_after_started("[pool.a.env]\n1A = \"x\"\nTURNPIKE_RUN = \"x\"\n"
                               "CUDA_VISIBLE_DEVICES = \"0\"\nCUDA_DEVICE_ORDER = \"x\"\nN = 7\n"
                               "NUL = \"a\\u0000\"\nGOOD = \"x\"\n\"a=b\" = \"x\"\n"),
        ElementsAre(StartsWith("t.toml:4: pool.a.env.1A: is not a valid name"),
                    StartsWith("t.toml:5: pool.a.env.TURNPIKE_RUN: is reserved"),
                    "t.toml:6: pool.a.env.CUDA_VISIBLE_DEVICES: is set by Turnpike for each "
                    "lane: use the keys gpus and pin instead",
                    StartsWith("t.toml:7: pool.a.env.CUDA_DEVICE_ORDER: is set by Turnpike"),
                    "t.toml:8: pool.a.env.N: must be a string, not an integer",
                    StartsWith("t.toml:9: pool.a.env.NUL: has a NUL"),
                    StartsWith("t.toml:11: pool.a.env.\"a=b\": is not a valid name")));
    EXPECT_THAT(mistakes_after_started("env = [\"A=1\"]"),
                ElementsAre("t.toml:3: pool.a.env: must be a table of strings, not a list"));
    EXPECT_THAT(mistakes_after_started("env.A = \"" + std::string(65'537, 'x') + '"'),
                ElementsAre("t.toml:3: pool.a.env.A: is longer than 64KiB"));
}

TEST(StartedPoolMistakes, PinIsOneOfThreeWords) {
    EXPECT_THAT(mistakes_after_started("pin = \"Index\""),
                ElementsAre(HasSubstr("\"Index\" must be \"index\", \"uuid\" or \"none\"")));
}

TEST(Sources, NameThePlaceOfAMistakeThatIsFoundLater) {
    const auto config = parse_config(after_started("gpus = [0,\n1]\n"), "t.toml");
    ASSERT_TRUE(config);
    EXPECT_EQ(text_of(config->sources.mistake("pool.a.gpus[1]", "is gone")),
              "t.toml:4: pool.a.gpus: is gone");
    EXPECT_EQ(text_of(config->sources.mistake("pool.a.lanes", "is low")),
              "t.toml:1: pool.a.lanes: is low");
    const auto flags = make_config(std::nullopt, {.worker = "x {port}", .gpus = "0"});
    ASSERT_TRUE(flags);
    EXPECT_EQ(text_of(flags->sources.mistake("pool.default.gpus[0]", "is gone")),
              "--gpus: is gone");
}

// ── placeholders ─────────────────────────────────────────────────────────────────────────────────

std::string shouted(std::string_view text) {
    return filled_placeholders(text, [](std::string_view word) -> std::optional<std::string> {
        if (word == "x") return "{x}!";
        return std::nullopt;
    });
}

TEST(Placeholders, AreFilledOnce) {
    EXPECT_EQ(shouted("{x}a{x}"), "{x}!a{x}!");
    EXPECT_EQ(shouted("{{x}}"), "{{x}!}");
}

TEST(Placeholders, OtherBracesStayAsTheyAre) {
    for (const char* text : {"", "{}", "{", "}", "{y}", "${x}", "{x", "x}", "{ x }", "{\"a\": {}}"})
        EXPECT_EQ(shouted(text), text);
    EXPECT_EQ(shouted("{\"a\":{x}}"), "{\"a\":{x}!}");
}

}  // namespace
}  // namespace turnpike
