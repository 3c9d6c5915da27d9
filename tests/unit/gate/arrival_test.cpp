#include "gate/arrival.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/gate/parsed_request.h"

namespace turnpike {
namespace {

using testing::HasSubstr;

const std::vector<PoolConfig> one_pool{{.name = "only", .aside = {{"GET", "/v1/models"}}}};
const std::vector<PoolConfig> two_pools{{.name = "chat"}, {.name = "draw"}};
const std::vector<PoolConfig> with_default{{.name = "chat"}, {.name = "draw", .is_default = true}};
const std::vector<PoolConfig> with_models{{.name = "plain"},
                                          {.name = "chat", .models = {"qwen", "llama"}},
                                          {.name = "draw", .models = {"sdxl"}}};

/// An Arrival with its own copy of the target, so that it can outlive the request.
struct Routed {
    PoolId pool;
    std::string target;
    Arrival arrival;
};

std::expected<Routed, Objection> route(const std::vector<PoolConfig>& pools,
                                       std::string_view lines) {
    const ParsedRequest request(lines);
    const auto arrival = RequestRouter(pools).route(request.head());
    if (!arrival) return std::unexpected(arrival.error());
    return Routed{arrival->pool, std::string(arrival->target), *arrival};
}

std::string target_of(const std::vector<PoolConfig>& pools, std::string_view target) {
    const auto routed = route(pools, get({}, target));
    if (!routed) return std::string(slug_of(routed.error().problem));
    return std::to_string(routed->pool.value) + " " + routed->target;
}

TEST(RequestRouter, SendsEverythingToTheOnlyPool) {
    EXPECT_EQ(target_of(one_pool, "/predict?x=1"), "0 /predict?x=1");
    EXPECT_EQ(target_of(one_pool, "/"), "0 /");
}

TEST(RequestRouter, SendsRequestsWithoutAPoolToTheDefault) {
    EXPECT_EQ(target_of(with_default, "/predict"), "1 /predict");
}

TEST(RequestRouter, ListsThePoolsWhenNoneIsTheDefault) {
    const auto routed = route(two_pools, get());
    ASSERT_FALSE(routed);
    EXPECT_EQ(routed.error().problem, Problem::no_pool);
    EXPECT_THAT(routed.error().detail, HasSubstr("chat, draw"));
}

TEST(RequestRouter, TakesThePoolFromThePath) {
    EXPECT_EQ(target_of(two_pools, "/-/to/draw/v1/x?y=/z"), "1 /v1/x?y=/z");
    EXPECT_EQ(target_of(two_pools, "/-/to/chat/"), "0 /");
    EXPECT_EQ(target_of(with_default, "/-/to/chat/-/status"), "0 /-/status");
    EXPECT_EQ(target_of(two_pools, "/-/to/chat/-/to/draw/"), "0 /-/to/draw/") << "only once";
}

TEST(RequestRouter, RefusesPathsThatNameNoPool) {
    for (const std::string target :
         {"/-/to/none/x", "/-/to//x", "/-/to/chat", "/-/to/chat?x=1", "/-/to/CHAT/x", "/-/to/",
          "/-/to/cha/x", "/-/to/chatt/x", "/-/to/chat%2Fx/"})
        EXPECT_EQ(target_of(two_pools, target), "no-pool") << target;
}

TEST(RequestRouter, TakesThePoolFromItsField) {
    EXPECT_EQ(route(two_pools, get("turnpike-pool: draw\r\n"))->pool, PoolId{1});
    EXPECT_EQ(route(with_default, get("Turnpike-Pool: chat\r\n"))->pool, PoolId{0});
    EXPECT_EQ(route(with_default, get("Turnpike-Pool: none\r\n")).error().problem,
              Problem::no_pool);
    EXPECT_EQ(route(two_pools, get("Turnpike-Pool: chat\r\n", "/-/to/draw/x"))->pool, PoolId{1})
        << "the path is more than the field";
}

std::string post(std::string_view fields) {
    return "POST /v1/chat HTTP/1.1\r\nHost: localhost\r\n" + std::string(fields);
}
constexpr std::string_view json_body = "Content-Type: application/json\r\nContent-Length: 9\r\n";

TEST(RequestRouter, ReadsTheModelOfJsonBodiesWherePoolsHaveModels) {
    EXPECT_TRUE(route(with_models, post(json_body))->arrival.reads_model);
    EXPECT_EQ(route(with_models, post(json_body))->pool, PoolId{1}) << "until the body tells";
    for (const std::string type :
         {"application/json; charset=utf-8", "Application/JSON", "application/json ;x"})
        EXPECT_TRUE(
            route(with_models, post("Content-Type: " + type + "\r\nTransfer-Encoding: chunked\r\n"))
                ->arrival.reads_model)
            << type;
}

TEST(RequestRouter, ReadsNoModelUnlessAJsonBodyMustChooseThePool) {
    EXPECT_FALSE(route(one_pool, post(json_body))->arrival.reads_model);
    const std::string pool = "Turnpike-Pool: plain\r\n";
    EXPECT_FALSE(route(with_models, post(pool + std::string(json_body)))->arrival.reads_model);
    for (const std::string fields : {"Content-Type: application/json\r\n", "Content-Length: 9\r\n",
                                     "Content-Type: text/plain\r\nContent-Length: 9\r\n",
                                     "Content-Type: application/jsonx\r\nContent-Length: 9\r\n"})
        EXPECT_EQ(route(with_models, post(fields)).error().problem, Problem::no_pool) << fields;
}

TEST(RequestRouter, FindsThePoolOfAModel) {
    const RequestRouter reception(with_models);
    EXPECT_EQ(reception.pool_for_model("llama"), PoolId{1});
    EXPECT_EQ(reception.pool_for_model("sdxl"), PoolId{2});
    for (const std::string model : {"", "lama", "LLAMA", "llama "}) {
        ASSERT_FALSE(reception.pool_for_model(model)) << model;
        EXPECT_EQ(reception.pool_for_model(model).error().problem, Problem::no_pool);
    }
    EXPECT_THAT(reception.pool_for_model("gpt").error().detail, HasSubstr("\"gpt\""));
}

TEST(RequestRouter, SendsUnknownModelsToTheDefaultPool) {
    std::vector<PoolConfig> pools = with_models;
    pools[0].is_default = true;
    const RequestRouter reception(pools);
    EXPECT_EQ(reception.pool_for_model("gpt"), PoolId{0});
    EXPECT_EQ(reception.pool_for_model("qwen"), PoolId{1});
}

Arrival asked_with(std::string_view fields) {
    const auto routed = route(one_pool, get(fields));
    EXPECT_TRUE(routed) << fields;
    return routed ? routed->arrival : Arrival{};
}

TEST(RequestRouter, HasDefaultsForMissingFields) {
    const Arrival arrival = asked_with("");
    EXPECT_EQ(arrival.priority.level, 5);
    EXPECT_EQ(arrival.timeout, Duration::max());
    EXPECT_TRUE(arrival.lane_wanted.is_none());
    EXPECT_FALSE(arrival.is_aside);
}

TEST(RequestRouter, TakesPrioritiesTimeoutsAndLanes) {
    EXPECT_EQ(asked_with("Turnpike-Priority: 0\r\n").priority.level, 0);
    EXPECT_EQ(asked_with("turnpike-priority: 9\r\n").priority.level, 9);
    EXPECT_EQ(asked_with("Turnpike-Timeout: 500ms\r\n").timeout, 500ms);
    EXPECT_EQ(asked_with("Turnpike-Timeout: 5m\r\n").timeout, 5min);
    EXPECT_EQ(asked_with("Turnpike-Lane: 0\r\n").lane_wanted, LaneId{0});
    EXPECT_EQ(asked_with("Turnpike-Lane: 1000000\r\n").lane_wanted, LaneId{1'000'000});
    EXPECT_EQ(asked_with("Turnpike-Unheard-Of: 1\r\n").priority.level, 5);
}

TEST(RequestRouter, RefusesValuesThatMakeNoSense) {
    for (const std::string field :
         {"Turnpike-Priority: 10", "Turnpike-Priority: -1", "Turnpike-Priority: +1",
          "Turnpike-Priority: high", "Turnpike-Priority:", "Turnpike-Priority: 5 ,6",
          "Turnpike-Priority: 99999999999999999999999", "Turnpike-Lane: 1000001",
          "Turnpike-Lane: one", "Turnpike-Lane: 0x1", "Turnpike-Timeout: 0s", "Turnpike-Timeout: 5",
          "Turnpike-Timeout: -5s", "Turnpike-Timeout:", "Turnpike-Timeout: soon"}) {
        const auto routed = route(one_pool, get(field + "\r\n"));
        ASSERT_FALSE(routed) << field;
        EXPECT_EQ(routed.error().problem, Problem::bad_header) << field;
        EXPECT_THAT(routed.error().detail, HasSubstr(field.substr(0, field.find(':'))));
    }
}

TEST(RequestRouter, KnowsWhatGoesAside) {
    std::vector<PoolConfig> pools{
        {.name = "only", .aside = {{"GET", "/v1/models"}, {"POST", "/cheap/*"}}}};
    const auto is_aside = [&](const std::string& line) {
        return route(pools, line + " HTTP/1.1\r\nHost: localhost\r\n")->arrival.is_aside;
    };
    for (const std::string line : {"GET /v1/models", "GET /v1/models?x=/y", "POST /cheap/",
                                   "POST /cheap/a/b", "GET /-/to/only/v1/models"})
        EXPECT_TRUE(is_aside(line)) << line;
    for (const std::string line :
         {"POST /v1/models", "HEAD /v1/models", "GET /v1/models/", "GET /v1/model",
          "GET /v1/models/x", "GET /V1/models", "POST /cheap", "POST /cheaper/", "GET /cheap/x"})
        EXPECT_FALSE(is_aside(line)) << line;
}

TEST(Objection, FollowsFromTheFault) {
    using http::Fault;
    const std::vector<std::pair<Fault, int>> rows{
        {Fault::bad_field, 400},       {Fault::target_too_long, 414}, {Fault::head_too_large, 431},
        {Fault::too_many_fields, 431}, {Fault::bad_expect, 417},      {Fault::unknown_method, 501},
        {Fault::bad_version, 505},     {Fault::refused_method, 405},  {Fault::two_framings, 400}};
    for (const auto& [fault, status] : rows) {
        EXPECT_EQ(status_of(objection_to(fault).problem), http::status_of(fault));
        EXPECT_EQ(status_of(objection_to(fault).problem), status) << http::name_of(fault);
        EXPECT_EQ(objection_to(fault).detail, http::sentence_of(fault));
    }
}

}  // namespace
}  // namespace turnpike
