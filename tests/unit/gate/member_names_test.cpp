// Our pages name each member of an object only once, because strict JSON parsers refuse duplicates.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/gate/gate_fixture.h"

namespace turnpike {
namespace {

/// Returns the size of the string that begins here, with both quotes.
std::size_t size_of_string(std::string_view json) {
    std::size_t size = 1;
    while (size < json.size() && json[size] != '"') size += json[size] == '\\' ? 2 : 1;
    return std::min(size + 1, json.size());
}

/// Returns the first name that an object of this page has twice. Empty if there is none.
std::string named_twice(std::string_view json) {
    std::vector<std::set<std::string_view>> open(1);
    while (!json.empty()) {
        const std::size_t size = json.front() == '"' ? size_of_string(json) : 1;
        const std::string_view part = json.substr(0, size);
        json.remove_prefix(size);
        if (part == "{") open.emplace_back();
        if (part == "}" && open.size() > 1) open.pop_back();
        if (part.size() > 1 && json.starts_with(':') && !open.back().insert(part).second)
            return std::string(part);
    }
    return "";
}

TEST(NamesOfMembers, AreFoundIfTheyOccurTwice) {
    EXPECT_EQ(named_twice(R"({"a":1,"b":{"a":2},"c":["a","a"],"d":[{"a":1},{"a":2}]})"), "");
    EXPECT_EQ(named_twice(R"({"x":"\"a\":1,\"a\":2","a":"a"})"), "");
    EXPECT_EQ(named_twice(R"({"l":[{"a":1,"b":{},"a":1}]})"), R"("a")");
    EXPECT_EQ(named_twice(R"({"a":{"b":1},"a":2})"), R"("a")");
}

/// Two pools, a model and a command, each with a lane; a job that runs, one that ended, and a
/// crash.
struct BusyGate : GateFixture {
    BusyGate()
        : GateFixture(Config{.pools = {{.name = "model",
                                        .worker = {.model = {.kind = ModelChoice::Kind::python,
                                                             .path = "/model.py"}},
                                        .settings = {.lanes = 1}},
                                       {.name = "command",
                                        .worker = {.command = "serve {port}"},
                                        .settings = {.lanes = 1}}}}) {
        lanes.resize(2);
        for (LaneFacts& lane : lanes)
            lane.gpus = {{.index = 0, .uuid = "GPU-0", .name = "H200", .memory_used = Bytes{1}}};
        lanes[0].now.loading = {.permille = 405, .text = "layers"};
        crashes.add(RecentCrashes::store("", report(), 1).crash);
    }
    static CrashReport report() {
        return {.pool = "model",
                .gpus = {"0 GPU-0 H200"},
                .exit_code = 1,
                .signal = 9,
                .memory_peak = Bytes{1},
                .gpu_memory_used = Bytes{1},
                .oom_line = "oom",
                .log = "err last",
                .inputs = {{.job = "a", .request = "POST /", .content_type = "b", .body = "c"},
                           {.job = "d", .is_cut = true}}};
    }
    std::string page(const std::string& path) {
        Client& client = connect(Entrance::command_line);
        client.listen();
        client.say("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        EXPECT_TRUE(loop.run_until([&] { return client.is_over; }));
        EXPECT_TRUE(client.got.starts_with("HTTP/1.1 200 ")) << path << client.got;
        return client.got.substr(client.got.find("\r\n\r\n"));
    }
    /// Lets a job fail with everything that a page can show about it. Returns its name.
    std::string fail_a_job() {
        Client& client = ask("GET /x HTTP/1.1\r\nHost: localhost\r\nTurnpike-Pool: model\r\n\r\n");
        const ExchangePtr exchange = queued();
        exchange->attempt.trouble = {.cause = Cause::model_failed, .said = "ValueError: x"};
        exchange->attempt.stacks = "Thread 1";
        const std::string name = exchange->name;
        end(job, EndReason::model_failed);
        hear(client, "model-failed");
        return name;
    }
};

TEST(NamesOfMembers, OccurOnceInEachObjectOfOurPages) {
    BusyGate gate;
    const std::string ended = gate.fail_a_job();
    for (const std::string& path :
         {std::string("/-/status"), std::string("/-/jobs"), "/-/jobs/" + ended,
          std::string("/-/crashes"), "/-/crashes/" + gate.crashes.newest_first().front().id}) {
        const std::string page = gate.page(path);
        EXPECT_EQ(named_twice(page), "") << path << page;
    }
}

}  // namespace
}  // namespace turnpike
