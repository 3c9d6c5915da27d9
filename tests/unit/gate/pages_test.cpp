#include "gate/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gate/model_page.h"
#include "tests/unit/gate/gate_fixture.h"

namespace turnpike {
namespace {

using testing::HasSubstr;

/// Returns what /-/status shows as the model of a pool.
std::string member_of(PoolConfig pool, const std::string& name) {
    GateFixture fixture(Config{.pools = {std::move(pool)}});
    fixture.lanes.resize(fixture.config.pools.front().settings.lanes);
    Client& client = fixture.ask("GET /-/status HTTP/1.1\r\nHost: localhost\r\n\r\n");
    fixture.hear(client, "\"lanes\"");
    const std::string member = '"' + name + "\":\"";
    const std::size_t begin = client.got.find(member) + member.size();
    return client.got.substr(begin, client.got.find("\",", begin) - begin);
}

std::string model_of(PoolConfig pool) { return member_of(std::move(pool), "model"); }

TEST(StatusPage, NamesTheCommandOfStartedWorkersAndCountsAttachedOnes) {
    EXPECT_EQ(model_of({.name = "a", .worker = {.command = "serve --port {port}"}}),
              "serve --port {port}");
    EXPECT_EQ(model_of({.name = "a", .attach = {{.text = "http://h:1"}}}), "attached: 1 worker");
    EXPECT_EQ(model_of({.name = "a", .attach = {{.text = "http://h:1"}, {.text = "http://h:2"}}}),
              "attached: 2 workers");
}

TEST(StatusPage, SaysWhichKindOfWorkersAPoolHas) {
    const auto kind = [](PoolConfig pool) { return member_of(std::move(pool), "kind"); };
    EXPECT_EQ(kind({.name = "a", .worker = {.command = "serve --port {port}"}}), "http");
    EXPECT_EQ(kind({.name = "a", .attach = {{.text = "http://h:1"}}}), "attached");
    const ModelChoice model{.kind = ModelChoice::Kind::python, .path = "/m.py", .text = "m.py"};
    EXPECT_EQ(kind({.name = "a", .worker = {.model = model}}), "native");
}

// ── models ───────────────────────────────────────────────────────────────────────────────────────

const ModelChoice digits{.kind = ModelChoice::Kind::python,
                         .path = "/srv/models/digits.py",
                         .name = "Digits",
                         .text = "models/digits.py:Digits"};

/// Returns the members that only native lanes have.
std::string native_members(const WorkerFacts& facts, LaneState state, const Caller& caller) {
    std::string text;
    JsonWriter json(text);
    append_native(json, facts, state, caller);
    return text;
}

TEST(StatusPage, NamesAModelAndHidesItsPath) {
    EXPECT_EQ(model_of({.name = "a", .worker = {.model = digits}}), "models/digits.py:Digits");
    EXPECT_EQ(model_name(digits, {.is_admin = false}), "digits.py:Digits");
    EXPECT_EQ(model_name({.path = "/srv/worker", .text = "./worker"}, {.is_admin = false}),
              "worker");
}

TEST(StatusPage, SaysHowFarAModelHasLoaded) {
    WorkerFacts facts;
    facts.loading = {.permille = 405, .text = "layers"};
    facts.sdk = "turnpike-python 0.1.0";
    EXPECT_EQ(native_members(facts, LaneState::loading, {.is_admin = true}),
              R"("loading":{"fraction":0.405,"text":"layers"},"sdk":"turnpike-python 0.1.0",)"
              R"("model_facts":null)");
    facts.loading->permille.reset();
    EXPECT_EQ(native_members(facts, LaneState::loading, {.is_admin = false}),
              R"("loading":{"fraction":null,"text":null},"sdk":"turnpike-python 0.1.0",)"
              R"("model_facts":null)");
    EXPECT_THAT(native_members(facts, LaneState::ready, {.is_admin = true}),
                HasSubstr(R"("loading":null)"));
}

TEST(StatusPage, ShowsFactsOfAModelOnlyIfTheyAreAnObjectAndToAdmins) {
    WorkerFacts facts;
    const auto shown = [&](const char* text, bool is_admin) {
        facts.model_facts = text;
        const std::string all = native_members(facts, LaneState::ready, {.is_admin = is_admin});
        return all.substr(all.find("\"model_facts\":") + 14);
    };
    EXPECT_EQ(shown(R"({"parameters": 4810})", true), R"({"parameters": 4810})");
    EXPECT_EQ(shown(R"({"parameters": 4810})", false), "null");
    for (const char* text : {"", "7", "[]", "{", "{} ,\"x\":1", "{}}"})
        EXPECT_EQ(shown(text, true), "null") << text;
}

TEST(StatusPage, TellsWhatALaneOfAModelTakesAndHowItStarted) {
    GateFixture fixture(Config{.pools = {{.name = "a",
                                          .worker = {.model = digits, .python = "/bin/python3"},
                                          .settings = {.lanes = 1, .slots = 2, .batch = 16}}}});
    fixture.lanes.resize(1);
    fixture.lanes[0].now.start = {.spawn = 3ms, .import = 40ms, .load = 210ms};
    Client& client = fixture.ask("GET /-/status HTTP/1.1\r\nHost: localhost\r\n\r\n");
    fixture.hear(client, "\"model_facts\"");
    EXPECT_THAT(client.got, HasSubstr(R"("python":"/bin/python3")"));
    EXPECT_THAT(client.got, HasSubstr(R"("slots":2,"batch":16,)"));
    EXPECT_THAT(
        client.got,
        HasSubstr(
            R"("start":{"spawn_ms":3,"import_ms":40,"load_ms":210,"proof_ms":null,"first_job_ms":null,"warm":false})"));
}

}  // namespace
}  // namespace turnpike
