#include "gate/pages.h"

#include <gtest/gtest.h>

#include "tests/unit/gate/gate_stand.h"

namespace turnpike {
namespace {

/// What /-/status says that a pool's lanes run.
std::string model_of(PoolConfig pool) {
    GateStand stand(Config{.pools = {std::move(pool)}});
    stand.lanes.resize(stand.config.pools.front().settings.lanes);
    Client& client = stand.ask("GET /-/status HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stand.hear(client, "\"lanes\"");
    const std::string member = "\"model\":\"";
    const std::size_t begin = client.got.find(member) + member.size();
    return client.got.substr(begin, client.got.find("\",", begin) - begin);
}

TEST(StatusPage, NamesTheCommandOfStartedWorkersAndCountsAttachedOnes) {
    EXPECT_EQ(model_of({.name = "a", .worker = {.command = "serve --port {port}"}}),
              "serve --port {port}");
    EXPECT_EQ(model_of({.name = "a", .attach = {{.text = "http://h:1"}}}), "attached: 1 worker");
    EXPECT_EQ(model_of({.name = "a", .attach = {{.text = "http://h:1"}, {.text = "http://h:2"}}}),
              "attached: 2 workers");
}

}  // namespace
}  // namespace turnpike
