#include "gate/own_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

namespace turnpike {
namespace {

using http::Method;

constexpr std::array methods{Method::get,   Method::head,    Method::post,   Method::put,
                             Method::patch, Method::delete_, Method::options};

/// Returns a target that matches the route.
std::string example_of(const OwnRoute& route) {
    std::string path(route.path);
    const std::size_t star = path.find('*');
    if (star != std::string::npos) path.replace(star, 1, "some-name");
    return path;
}

TEST(OwnRoutes, HaveTheRulesThatTheDesignGivesThem) {
    const std::map<std::pair<std::string_view, std::string_view>, Rule> expected{
        {{"GET", "/-/healthz"}, Rule::anybody},       {{"GET", "/-/readyz"}, Rule::anybody},
        {{"GET", "/-/status"}, Rule::member},         {{"GET", "/-/jobs"}, Rule::member},
        {{"GET", "/-/jobs/*"}, Rule::member},         {{"DELETE", "/-/jobs/*"}, Rule::member},
        {{"GET", "/-/lanes/*/log"}, Rule::admin},     {{"GET", "/-/crashes"}, Rule::admin},
        {{"GET", "/-/crashes/*"}, Rule::admin},       {{"POST", "/-/lanes/*/restart"}, Rule::admin},
        {{"POST", "/-/lanes/*/drain"}, Rule::admin},  {{"POST", "/-/lanes/*/resume"}, Rule::admin},
        {{"POST", "/-/lanes/*/stacks"}, Rule::admin}, {{"POST", "/-/pools/*/restart"}, Rule::admin},
        {{"POST", "/-/pools/*/prove"}, Rule::admin},  {{"GET", "/-/pools/*/proof"}, Rule::admin},
        {{"POST", "/-/pools/*/reload"}, Rule::admin}, {{"POST", "/-/reload"}, Rule::admin}};
    std::map<std::pair<std::string_view, std::string_view>, Rule> actual;
    for (const OwnRoute& route : own_routes())
        actual[{http::name_of(route.method), route.path}] = route.rule;
    EXPECT_EQ(actual, expected) << "a new route: decide its rule here, too";
    EXPECT_EQ(actual.size(), own_routes().size()) << "no route is there twice";
}

TEST(OwnRoutes, AreAllUnderOurPrefixAndAnswered) {
    for (const OwnRoute& route : own_routes()) {
        EXPECT_TRUE(is_own(route.path)) << route.path;
        EXPECT_NE(route.answer, nullptr) << route.path;
    }
}

TEST(OwnRoutes, AreFoundByTheirMethodOnly) {
    for (const OwnRoute& asked : own_routes()) {
        const std::string target = example_of(asked);
        std::set<Method> allowed;
        for (const OwnRoute& other : own_routes())
            if (other.path == asked.path) allowed.insert(other.method);
        if (allowed.contains(Method::get)) allowed.insert(Method::head);
        for (const Method method : methods) {
            const FoundRoute found = find_route(method, target);
            EXPECT_EQ(found.route != nullptr, allowed.contains(method))
                << http::name_of(method) << " " << target;
            const bool is_right = found.problem == Problem::method_not_allowed;
            EXPECT_TRUE(found.route != nullptr || is_right);
        }
    }
}

TEST(OwnRoutes, TellWhichMethodsAreAllowed) {
    EXPECT_EQ(find_route(Method::post, "/-/status").allow, "GET, HEAD");
    EXPECT_EQ(find_route(Method::options, "/-/jobs/abc").allow, "GET, HEAD, DELETE");
    EXPECT_EQ(find_route(Method::get, "/-/status").allow, "");
}

TEST(OwnRoutes, TakeTheNameFromThePath) {
    EXPECT_EQ(find_route(Method::get, "/-/jobs/abc").name, "abc");
    EXPECT_EQ(find_route(Method::delete_, "/-/jobs/abc?x=/y").name, "abc");
    EXPECT_EQ(find_route(Method::get, "/-/jobs").name, "");
    EXPECT_EQ(find_route(Method::get, "/-/lanes/12/log?after=3").name, "12");
    EXPECT_EQ(find_route(Method::get, "/-/lanes/12/log?after=3").query, "after=3");
    EXPECT_EQ(find_route(Method::post, "/-/lanes/12/restart").name, "12");
    EXPECT_EQ(find_route(Method::post, "/-/pools/chat/prove?x").name, "chat");
}

TEST(OwnRoutes, DoNotMindAQuery) {
    EXPECT_NE(find_route(Method::get, "/-/status?verbose").route, nullptr);
    EXPECT_NE(find_route(Method::get, "/-/status?").route, nullptr);
}

TEST(OwnRoutes, AreNotFoundByOtherPaths) {
    for (const std::string target : {"/-/",
                                     "/-/statusx",
                                     "/-/Status",
                                     "/-/status/",
                                     "/-/jobs/",
                                     "/-/jobs/a/b",
                                     "/-/nothing",
                                     "/-//status",
                                     "/-/%73tatus",
                                     "/-/jobs/a/",
                                     "/-/to",
                                     "/-/../status",
                                     "/-/lanes/log",
                                     "/-/lanes//log",
                                     "/-/lanes/1/2/log",
                                     "/-/lanes/1/logs",
                                     "/-/crashes/",
                                     "/-/lanes/0",
                                     "/-/lanes//restart",
                                     "/-/lanes/0/1/restart",
                                     "/-/lanes/0/restart/",
                                     "/-/pools/x/drain"}) {
        const FoundRoute found = find_route(Method::get, target);
        EXPECT_EQ(found.route, nullptr) << target;
        EXPECT_EQ(found.problem, Problem::no_route) << target;
        EXPECT_EQ(found.allow, "") << target;
    }
}

TEST(OwnRoutes, AreAllPathsUnderThePrefixExceptThoseToAPool) {
    for (const std::string target : {"/-/", "/-/status", "/-/anything/else", "/-/to", "/-/tox/a"})
        EXPECT_TRUE(is_own(target)) << target;
    for (const std::string target :
         {"/", "/-", "/x/-/status", "/-/to/", "/-/to/chat/x", "*", "/-x"})
        EXPECT_FALSE(is_own(target)) << target;
}

}  // namespace
}  // namespace turnpike
