// Wrong configuration files, and the messages about them.
#include "tests/unit/config/mistakes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike {
namespace {

using test::mistakes_in;
using test::mistakes_of;
using test::mistakes_of_pool;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(Mistakes, AreShownWithTheirPlace) {
    EXPECT_EQ(text_of(Mistake{"f.toml", 3, "gate.listen", "is bad"}),
              "f.toml:3: gate.listen: is bad");
    EXPECT_EQ(text_of(Mistake{"f.toml", 0, "", "is bad"}), "f.toml: is bad");
    EXPECT_EQ(text_of(Mistake{"f.toml", 3, "", "is bad"}), "f.toml:3: is bad");
    EXPECT_EQ(text_of(Mistake{"", 0, "--attach", "is bad"}), "--attach: is bad");
}

TEST(Mistakes, ComeAllAtOnceSortedByLine) {
    EXPECT_THAT(mistakes_in(R"([pool.a]
attach = ["http://h:1",
  "https://h:2",
  7]
slots = 0
[gate]
listen = "nowhere"
idle_timeout = 75
colour = "red"
[pool.b]
)"),
                ElementsAre(StartsWith("t.toml:3: pool.a.attach: \"https://h:2\" must begin with"),
                            "t.toml:4: pool.a.attach: must be a string, not an integer",
                            "t.toml:5: pool.a.slots: must be 1 to 1024",
                            StartsWith("t.toml:7: gate.listen: \"nowhere\" needs a port"),
                            StartsWith("t.toml:8: gate.idle_timeout: needs a unit: \"500ms\""),
                            "t.toml:9: gate.colour: unknown key",
                            StartsWith("t.toml:10: pool.b: has no workers: set model = ")));
}

TEST(Mistakes, OfSyntaxStandAlone) {
    EXPECT_THAT(mistakes_in("[gate]\nlisten = \n[pool.a]\n"),
                ElementsAre(StartsWith("t.toml:2: ")));
    EXPECT_THAT(mistakes_in("[gate]\n[gate]\n"), ElementsAre(StartsWith("t.toml:2: ")));
    EXPECT_THAT(mistakes_in("a = 1\na = 2\n"), ElementsAre(StartsWith("t.toml:2: ")));
    EXPECT_THAT(mistakes_in("a = \"\xff\"\n"), ElementsAre(StartsWith("t.toml:1: ")));
    EXPECT_THAT(mistakes_in("a = " + std::string(10'000, '[')),
                ElementsAre(StartsWith("t.toml:1: ")));
}

TEST(Mistakes, OfTheParserItselfDoNotAbort) {
    EXPECT_THAT(mistakes_in("[[[\n"), ElementsAre("t.toml: is not valid TOML"));
}

TEST(Mistakes, UnknownKeysNameTheNearestKnownOne) {
    const auto unknown = [](std::string_view key, std::string_view meant) {
        return ElementsAre("t.toml:1: " + std::string(key) + ": unknown key; did you mean " +
                           std::string(meant) + "?");
    };
    EXPECT_THAT(mistakes_of("gate.lisen = 1"), unknown("gate.lisen", "listen"));
    EXPECT_THAT(mistakes_of("gates.listen = 1"), unknown("gates", "gate"));
    EXPECT_THAT(mistakes_of("loadparallel = 1"), unknown("loadparallel", "load_parallel"));
    EXPECT_THAT(mistakes_of("gate.jobs_max = 1"), unknown("gate.jobs_max", "queue.jobs_max"));
    EXPECT_THAT(mistakes_of_pool("health.pth = 1"),
                ElementsAre("t.toml:3: pool.a.health.pth: unknown key; did you mean path?"));
    EXPECT_THAT(mistakes_of_pool("helth.path = 1"),
                ElementsAre("t.toml:3: pool.a.helth: unknown key; did you mean health?"));
    EXPECT_THAT(mistakes_of("zebra = 1"), ElementsAre("t.toml:1: zebra: unknown key"));
}

TEST(Mistakes, KeysInQuotesCannotImitateTheTable) {
    EXPECT_THAT(mistakes_of("\"gate.listen\" = \"x\""),
                ElementsAre("t.toml:1: \"gate.listen\": unknown key"));
    EXPECT_THAT(mistakes_of("\"pool.*\" = {}"), ElementsAre("t.toml:1: \"pool.*\": unknown key"));
    EXPECT_THAT(mistakes_of("\"\" = 1"), ElementsAre("t.toml:1: \"\": unknown key"));
    EXPECT_THAT(mistakes_of("gate.\"\\u001b[2J\" = 1"),
                ElementsAre(StartsWith("t.toml:1: gate.\"?")));
    EXPECT_THAT(mistakes_of_pool("[pool.\"*\"]\n"),
                ElementsAre(StartsWith("t.toml:3: pool: \"*\" is not a valid name: 1 to 64")));
}

TEST(Mistakes, EveryKindOfValueSaysWhatItWants) {
    EXPECT_THAT(mistakes_of("gate = 1"),
                ElementsAre("t.toml:1: gate: must be a table, not an integer"));
    EXPECT_THAT(mistakes_of("gate.idle_timeout = true"),
                ElementsAre("t.toml:1: gate.idle_timeout: must be a duration such as \"30s\", "
                            "not a boolean"));
    EXPECT_THAT(mistakes_of("gate.idle_timeout = 1.5"),
                ElementsAre(HasSubstr("needs a unit: \"500ms\"")));
    EXPECT_THAT(mistakes_of("gate.idle_timeout = \"75\""),
                ElementsAre(HasSubstr("\"75\" needs a unit: \"500ms\"")));
    EXPECT_THAT(mistakes_of("gate.body_max = []"),
                ElementsAre(HasSubstr("must be a size such as \"64MiB\", not a list")));
    EXPECT_THAT(mistakes_of("gate.body_max = -1"), ElementsAre(HasSubstr("must be 1KiB to 1TiB")));
    EXPECT_THAT(mistakes_of("gate.body_max = \"64MB\""),
                ElementsAre(HasSubstr("\"64MB\" needs a unit: \"100B\"")));
    EXPECT_THAT(mistakes_of("queue.jobs_max = 1.0"),
                ElementsAre(HasSubstr("must be an integer, not a number")));
    EXPECT_THAT(mistakes_of("queue.jobs_max = 4294967297"),
                ElementsAre(HasSubstr("must be 1 to 1000000")));
    EXPECT_THAT(mistakes_of("log.starts = 1"),
                ElementsAre(HasSubstr("must be true or false, not an integer")));
    EXPECT_THAT(mistakes_of("gate.spool = 1979-05-27"),
                ElementsAre(HasSubstr("must be a string, not a date or time")));
    EXPECT_THAT(mistakes_of("gate.allowed_hosts = \"a\""),
                ElementsAre(HasSubstr("must be a list of strings, not a string")));
    EXPECT_THAT(mistakes_of_pool("proof = {agree = true, tolerance_absolute = \"1\"}"),
                ElementsAre(HasSubstr("must be a number, not a string")));
}

TEST(Mistakes, TextsAreJudgedByWhatTheyAreFor) {
    EXPECT_THAT(mistakes_of_pool("cancel = \"none\""), ElementsAre(HasSubstr("\"none\" must be")));
    EXPECT_THAT(mistakes_of("gate.spool = \"here\""),
                ElementsAre(HasSubstr("begins with a slash")));
    EXPECT_THAT(mistakes_of("gate.allowed_hosts = [\"a\", \"a:80\"]"),
                ElementsAre(HasSubstr("\"a:80\" must be a host without a port")));
    EXPECT_THAT(mistakes_of("gate.allowed_origins = [\"*\"]"),
                ElementsAre(HasSubstr("\"*\" must be an origin")));
    EXPECT_THAT(mistakes_of("gate.trusted_proxies = [\"10.0.0.1\", \"proxy.lan\", \"0.0.0.0/0\"]"),
                ElementsAre(HasSubstr("\"proxy.lan\" must be an IP address or a network"),
                            HasSubstr("\"0.0.0.0/0\" must not be the whole internet")));
    EXPECT_THAT(mistakes_of("log.jobs = \"/tmp/\""), ElementsAre(HasSubstr("a file's path")));
    EXPECT_THAT(mistakes_of_pool("models = [\"\"]"), ElementsAre(HasSubstr("a model's name")));
    EXPECT_THAT(mistakes_of_pool("aside = [\"/docs\"]"),
                ElementsAre(HasSubstr("a method and a path")));
    EXPECT_THAT(mistakes_of_pool("cancel = \"never\""),
                ElementsAre(HasSubstr("must be \"finish\", \"close\" or \"kill\"")));
    EXPECT_THAT(mistakes_of_pool("health.path = \"health\""),
                ElementsAre(HasSubstr("\"health\" does not begin with a slash")));
    EXPECT_THAT(mistakes_of_pool("proof = {agree = true, content_type = \"a\\r\\nb: c\"}"),
                ElementsAre(HasSubstr("\"a??b: c\" must be a media type")));
    EXPECT_THAT(mistakes_of_pool("proof = {agree = true, request = \"predict\"}"),
                ElementsAre(HasSubstr("pool.a.proof.request: \"predict\" must be a method")));
}

TEST(Mistakes, ThereMustBeAPoolWithAWorker) {
    for (const char* text : {"", "[pool]\n", "[gate]\n"})
        EXPECT_THAT(mistakes_in(text), ElementsAre(HasSubstr("pool: there is no pool"))) << text;
    EXPECT_THAT(mistakes_in("pool = 1"),
                ElementsAre("t.toml:1: pool: must be a table, not an integer"));
    EXPECT_THAT(mistakes_in("pool.a = 1"),
                ElementsAre("t.toml:1: pool.a: must be a table, not an integer"));
    EXPECT_THAT(mistakes_in("[[pool]]\nattach = []\n"),
                ElementsAre("t.toml:1: pool: must be a table, not a list"));
    EXPECT_THAT(mistakes_in("\n[pool.a]\nattach = []"),
                ElementsAre(StartsWith("t.toml:2: pool.a: has no workers: set model = ")));
}

TEST(Mistakes, NamesOfPoolsFollowTheRule) {
    EXPECT_THAT(mistakes_of_pool("[pool.Chat]\n[pool.\".x\"]\n[pool.\"a/b\"]\n"),
                ElementsAre(StartsWith("t.toml:3: pool: \"Chat\" is not a valid name"),
                            StartsWith("t.toml:4: pool: \".x\" is not a valid name"),
                            StartsWith("t.toml:5: pool: \"a/b\" is not a valid name")));
}

TEST(Mistakes, APoolHasAtMost64Lanes) {
    const auto with_lanes = [](int count) {
        std::string text = "[pool.a]\nattach = [";
        for (int i = 1; i <= count; ++i) text += "\"http://h:" + std::to_string(i) + "\", ";
        return text + "]\n";
    };
    EXPECT_THAT(mistakes_in(with_lanes(64)), IsEmpty());
    EXPECT_THAT(mistakes_in(with_lanes(65)),
                ElementsAre("t.toml:2: pool.a.attach: has 65 items; at most 64 are allowed"));
}

TEST(Mistakes, AWorkerIsNotTwoLanes) {
    EXPECT_THAT(
        mistakes_in("[pool.a]\nattach = [\"http://h:80\", \"http://H/\",\n\"http://h/x\"]\n"
                    "[pool.b]\nattach = [\"http://h/x/\"]\n"),
        ElementsAre("t.toml:2: pool.a.attach: \"http://H/\" is already listed in pool.a.attach",
                    "t.toml:5: pool.b.attach: \"http://h/x/\" is already listed in pool.a.attach"));
}

TEST(Mistakes, AModelBelongsToOnePool) {
    EXPECT_THAT(mistakes_in("[pool.a]\nattach = [\"http://h:1\"]\nmodels = [\"m\"]\n"
                            "[pool.b]\nattach = [\"http://h:2\"]\nmodels = [\"n\", \"m\"]\n"),
                ElementsAre("t.toml:6: pool.b.models: \"m\" is already listed in pool.a.models"));
}

TEST(Mistakes, OnlyOnePoolIsTheDefault) {
    EXPECT_THAT(mistakes_in("[pool.a]\nattach = [\"http://h:1\"]\ndefault = true\n"
                            "[pool.b]\nattach = [\"http://h:2\"]\ndefault = true\n"),
                ElementsAre("t.toml:6: pool.b.default: pool a is already the default; "
                            "remove one of the two"));
}

TEST(Mistakes, ABodyFitsIntoWhatAllBodiesMayTake) {
    EXPECT_THAT(mistakes_of("gate.body_max = \"2GiB\""),
                ElementsAre("t.toml:1: gate.body_max: gate.body_max (2GiB) must not be above "
                            "queue.bytes_max (1GiB)"));
    EXPECT_THAT(mistakes_of("queue.bytes_max = \"1MiB\""),
                ElementsAre("t.toml:1: queue.bytes_max: gate.body_max (64MiB) must not be above "
                            "queue.bytes_max (1MiB)"));
    EXPECT_THAT(mistakes_of("gate.body_max = \"2GiB\"\nqueue.bytes_max = \"2GB\""),
                ElementsAre(StartsWith("t.toml:2: queue.bytes_max: \"2GB\" needs a unit")));
}

TEST(Mistakes, DelaysGrow) {
    EXPECT_THAT(mistakes_of_pool("restart_delay_min = \"31s\""),
                ElementsAre("t.toml:3: pool.a.restart_delay_min: pool.a.restart_delay_min (31s) "
                            "must not be above pool.a.restart_delay_max (30s)"));
}

TEST(Mistakes, AttachedWorkersAreNotKilled) {
    EXPECT_THAT(mistakes_of_pool("cancel = \"kill\""),
                ElementsAre(StartsWith("t.toml:3: pool.a.cancel: attached workers can't be")));
}

TEST(Mistakes, AProofHasExactlyOneRightAnswer) {
    const auto needs_one = [](const std::string& found) {
        return ElementsAre(
            "t.toml:3: pool.a.proof: needs exactly one of expect, expect_json and "
            "agree = true; it has " +
            found);
    };
    EXPECT_THAT(mistakes_of_pool("[pool.a.proof]"), needs_one("none"));
    EXPECT_THAT(mistakes_of_pool("[pool.a.proof]\nagree = false\nexpect_json = \"\""),
                needs_one("none"));
    EXPECT_THAT(mistakes_of_pool("[pool.a.proof]\nexpect = \"a\"\nexpect_json = \"1\""),
                needs_one("several"));
    EXPECT_THAT(mistakes_of_pool("[pool.a.proof]\nexpect_json = \"1\"\nagree = true"),
                needs_one("several"));
    EXPECT_THAT(
        mistakes_of_pool("[pool.a.proof]\nexpect_json = 1"),
        ElementsAre("t.toml:4: pool.a.proof.expect_json: must be a string, not an integer"));
}

TEST(Mistakes, BytesHaveNoTolerance) {
    EXPECT_THAT(mistakes_of_pool("proof.expect = \"a\"\nproof.tolerance_relative = 0.1"),
                ElementsAre(StartsWith("t.toml:4: pool.a.proof.tolerance_relative: has no meaning "
                                       "with expect")));
}

TEST(Mistakes, ATextIsCutWhereItGetsLong) {
    const auto lines = mistakes_of_pool("cancel = \"" + std::string(10'000, 'x') + "\"");
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_LT(lines.front().size(), 200U);
}

}  // namespace
}  // namespace turnpike
