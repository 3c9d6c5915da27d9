#include "supervisor/process/warm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include <boost/json.hpp>

#include "tests/unit/supervisor/process/warm_stand.h"

namespace turnpike {
namespace {

using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// ── coming up ────────────────────────────────────────────────────────────────────────────────────

TEST_F(WarmStand, IsNotBuiltUntilAWorkerHasLeftWhatItImports) {
    script(says_ready);
    warm().learn();
    imported("");
    warm().learn();
    EXPECT_THAT(own_children(), IsEmpty());
    EXPECT_FALSE(warm().is_ready());
    EXPECT_EQ(warm().pid(), 0);
    EXPECT_EQ(trouble(), "");
}

TEST_F(WarmStand, IsReadyWhenItSaysSo) {
    script("print('hello'); sys.stdout.flush(); " + std::string(says_ready));
    ready();
    EXPECT_THAT(own_children(), Contains(warm().pid()));
    EXPECT_THAT(built(), testing::ElementsAre("--warm " + folder_.file("imports")));
    EXPECT_THAT(logged(),
                Contains("warm process " + std::to_string(warm().pid()) + ": 12 modules imported"));
    ASSERT_TRUE(loop_.run_until([&] { return output_.log().newest() >= 2; }));
    EXPECT_THAT(logged(), Contains("hello"));
}

TEST_F(WarmStand, ImportsWhatIsNamedInsteadAndIsBuiltOnce) {
    script(says_ready);
    warm({.preload = {"torch", "numpy.linalg"}});
    warm().learn();
    ASSERT_TRUE(run_until_ready());
    const pid_t pid = warm().pid();
    imported("json");
    warm().learn();
    loop_.poll();
    EXPECT_EQ(warm().pid(), pid);
    EXPECT_THAT(built(), testing::ElementsAre(EndsWith("/imports torch numpy.linalg")));
}

TEST_F(WarmStand, IsBuiltOncePerChangeOfWhatWorkersImport) {
    script(says_ready);
    const pid_t first = ready().pid();
    for (int i = 0; i < 3; ++i) warm().learn();
    EXPECT_THAT(own_children(), SizeIs(1));
    imported("json\ncolorsys");
    for (int i = 0; i < 3; ++i) warm().learn();
    ASSERT_TRUE(loop_.run_until([&] { return warm().pid() != first && warm().is_ready(); }));
    EXPECT_TRUE(loop_.run_until([&] { return !children_.has(first); }));
    EXPECT_THAT(own_children(), testing::ElementsAre(warm().pid()));
    EXPECT_THAT(built(), SizeIs(2));
}

TEST_F(WarmStand, KeepsForkingUntilTheNextIsReady) {
    script(says_ready);
    const pid_t first = ready().pid();
    script("wait()");  // is never ready
    imported("json\ncolorsys");
    warm().learn();
    ASSERT_TRUE(loop_.run_until([&] { return built().size() == 2; }));
    EXPECT_EQ(warm().pid(), first);
    EXPECT_TRUE(warm().fork({}, "", {}, TestOffer().offer_for_good()));
}

// ── what goes wrong ──────────────────────────────────────────────────────────────────────────────

TEST_F(WarmStand, IsNotBuiltAgainAfterARefusalUntilImportsChange) {
    script(R"(say('{"refused": "an import has started a thread"}'); wait())");
    imported("json");
    warm().learn();
    ASSERT_TRUE(run_until_trouble("an import has started a thread"));
    EXPECT_TRUE(run_until_alone());
    warm().learn();
    EXPECT_THAT(own_children(), IsEmpty());
    script(says_ready);
    imported("colorsys");
    warm().learn();
    ASSERT_TRUE(run_until_ready());
    EXPECT_EQ(trouble(), "");
    EXPECT_THAT(built(), SizeIs(2));
}

TEST_F(WarmStand, IsBuiltAnewAtOnceWhenItAsksForThat) {
    script(R"(
say('{"ready": 1}'); wait()
say('{"refused": "numpy has changed", "rebuild": true}'); wait())");
    const pid_t first = ready().pid();
    script(says_ready);
    ASSERT_TRUE(warm().fork({}, "", {}, TestOffer().offer_for_good()));
    ASSERT_TRUE(loop_.run_until([&] { return warm().is_ready() && warm().pid() != first; }));
    EXPECT_THAT(logged(), Contains("warm process: numpy has changed"));
    EXPECT_TRUE(loop_.run_until([&] { return !children_.has(first); }));
}

TEST_F(WarmStand, ThatDiesIsBuiltAgain) {
    script("sys.exit(3)");
    imported("json");
    warm().learn();
    ASSERT_TRUE(run_until_trouble("it died: exit code 3"));
    script(says_ready);
    ASSERT_TRUE(run_until_ready());
    EXPECT_EQ(trouble(), "");
    const pid_t killed = warm().pid();
    ::kill(killed, SIGKILL);
    ASSERT_TRUE(loop_.run_until([&] { return warm().is_ready() && warm().pid() != killed; }));
    EXPECT_THAT(logged(), Contains("warm process: it died: killed by SIGKILL"));
}

TEST_F(WarmStand, ThatDiesAgainAndAgainIsGivenUpUntilImportsChange) {
    script("sys.exit(3)");
    imported("json");
    warm().learn();
    const auto deaths = [&] {
        return std::ranges::count(logged(), "warm process: it died: exit code 3");
    };
    ASSERT_TRUE(loop_.run_until([&] { return deaths() == 5; }));
    loop_.context().run_for(std::chrono::milliseconds(100));  // more than its longest delay
    EXPECT_EQ(deaths(), 5);
    EXPECT_THAT(built(), SizeIs(5));
    script(says_ready);
    imported("colorsys");
    warm().learn();
    EXPECT_TRUE(run_until_ready());
}

TEST_F(WarmStand, ThatTalksNonsenseIsEndedAndBuiltAgain) {
    for (const std::string text : {"nonsense", "[]", "{}", R"({"refused": 7})", R"({"ready": 1)"}) {
        script("say('" + text + "'); wait()");
        imported(text);
        warm().learn();
        ASSERT_TRUE(run_until_trouble("it sent a message that Turnpike does not understand"))
            << text;
        script(says_ready);
        ASSERT_TRUE(loop_.run_until([&] { return !warm().trouble(); })) << text;
        EXPECT_TRUE(warm().is_ready());
    }
}

TEST_F(WarmStand, ThatImportsForeverIsReportedOnceAndEnded) {
    script("wait()");  // is never ready
    imported("json");
    warm({.import_max = 2ms}).learn();
    ASSERT_TRUE(run_until_trouble("it still imports after 1ms"));
    EXPECT_EQ(
        warm().take_news(),
        "its warm process still imports after 1ms; starts are cold until it is ready (to change "
        "that, set preload = [...] or warm = false: docs/reload.md)");
    EXPECT_EQ(warm().take_news(), "");
    ASSERT_TRUE(run_until_trouble("it was ended: it still imported after 2ms"));
    EXPECT_TRUE(run_until_alone());
    warm().learn();
    loop_.context().run_for(std::chrono::milliseconds(20));  // more than its delay
    EXPECT_THAT(own_children(), IsEmpty()) << "it would wait for the same again";
    EXPECT_EQ(warm().take_news(), "");
    imported("colorsys");
    warm().learn();
    EXPECT_THAT(own_children(), SizeIs(1));
}

TEST_F(WarmStand, ThatImportsForLongLeavesTheOneBeforeItAlone) {
    script(says_ready);
    warm({.import_max = 4s});
    const pid_t first = ready().pid();
    script("say('{\"importing\": \"a.b\"}'); wait()");
    imported("json\ncolorsys");
    warm().learn();
    ASSERT_TRUE(run_until_trouble("it still imports a.b after 2s"));
    EXPECT_THAT(warm().take_news(),
                HasSubstr("imports a.b after 2s; until it is ready, the old one is used"));
    EXPECT_EQ(warm().pid(), first);
}

TEST_F(WarmStand, WithoutAPythonLeavesStartsCold) {
    imported("json");
    warm({.python = "/nowhere/python"}).learn();
    ASSERT_TRUE(run_until_trouble("can't be started: No such file or directory"));
    EXPECT_FALSE(warm().is_ready());
}

TEST_F(WarmStand, ThatIsGivenUpIsEndedAndBuiltAgain) {
    script(says_ready);
    const pid_t first = ready().pid();
    ::kill(first, SIGSTOP);
    warm().give_up();
    EXPECT_FALSE(warm().is_ready());
    EXPECT_EQ(trouble(), "it did not fork in time");
    ASSERT_TRUE(run_until_ready());
    EXPECT_NE(warm().pid(), first);
    EXPECT_TRUE(loop_.run_until([&] { return !children_.has(first); }));
    EXPECT_THAT(logged(), testing::Not(Contains(HasSubstr("it died"))));
}

TEST_F(WarmStand, EndsWithTheGate) {
    script(says_ready);
    ready();
    script("wait()");
    imported("json\ncolorsys");
    warm().learn();  // and another comes
    warm().close();
    EXPECT_FALSE(warm().is_ready());
    EXPECT_TRUE(run_until_alone());
    imported("more");
    warm().learn();
    warm().give_up();
    loop_.poll();
    EXPECT_THAT(own_children(), IsEmpty());
    EXPECT_FALSE(warm().fork({}, "", {}, TestOffer().offer_for_good()));
}

// ── a start ──────────────────────────────────────────────────────────────────────────────────────

TEST_F(WarmStand, GetsTheRequestAndFourDescriptors) {
    script(R"(
say('{"ready": 1}')
data, fds, _, _ = socket.recv_fds(gate, 1 << 20, 8)
for fd, word in zip(fds, ("out", "err", "control", "link")): os.write(fd, word.encode()); os.close(fd)
with open(folder + "/draft", "wb") as file: file.write(data)
os.rename(folder + "/draft", folder + f"/request{len(fds)}")
wait())");
    ready();
    TestOffer offer;
    ASSERT_TRUE(warm().fork(
        {.label = "lane 3", .open_files = 512, .cgroup = "/g", .folder = "/f", .command = "c"},
        "/m.py:Net", {"A=1", "B=\xff\"\n"}, std::move(offer.offer)));
    ASSERT_TRUE(loop_.run_until([&] { return folder_.has("request4"); }));
    EXPECT_EQ(folder_.read("request4"),
              "{\"label\":\"lane 3\",\"open_files\":512,\"cgroup\":\"/g\",\"folder\":\"/f\","
              "\"model\":\"/m.py:Net\",\"environment\":[\"A=1\",\"B=\xff\\\"\\n\"]}");
    const std::array words{"out", "err", "control", "link"};
    for (std::size_t i = 0; i < words.size(); ++i) {
        EXPECT_EQ(offer.read(i), words[i]);
        EXPECT_EQ(offer.read(i), "") << "we hold no copy of " << words[i];
    }
}

TEST_F(WarmStand, IsNotAskedWithAnEnvironmentThatIsTooLarge) {
    script(says_ready);
    const pid_t pid = ready().pid();
    TestOffer offer;
    const auto asked = warm().fork({}, "", {std::string(16 << 20, 'x')}, std::move(offer.offer));
    ASSERT_FALSE(asked);
    EXPECT_EQ(asked.error().why, WhyCold::too_large);
    for (std::size_t i = 0; i < offer.ours.size(); ++i) EXPECT_EQ(offer.read(i), "");
    EXPECT_EQ(warm().pid(), pid) << "that is not its fault";
}

TEST_F(WarmStand, CannotBeAskedIfItDiedUnnoticed) {
    script(says_ready);
    const pid_t pid = ready().pid();
    ::kill(pid, SIGKILL);
    siginfo_t end{};
    ::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOWAIT);
    const auto asked = warm().fork({}, "", {}, TestOffer().offer_for_good());
    ASSERT_FALSE(asked);
    EXPECT_EQ(asked.error().why, WhyCold::not_asked);
}

TEST_F(WarmStand, CannotBeAskedIfThereIsNone) {
    EXPECT_FALSE(warm().fork({}, "", {}, TestOffer().offer_for_good()));
    script("wait()");
    imported("json");
    warm().learn();
    EXPECT_FALSE(warm().fork({}, "", {}, TestOffer().offer_for_good())) << "it comes only";
}

}  // namespace
}  // namespace turnpike
