#include "gate/problem.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include <boost/json.hpp>

namespace turnpike {
namespace {

constexpr int problems = static_cast<int>(Problem::cancelled) + 1;

boost::json::object parsed(const ProblemText& text) {
    std::string out;
    append_problem(out, text);
    EXPECT_TRUE(out.ends_with("}\n"));
    boost::json::error_code error;
    const boost::json::value value = boost::json::parse(out, error);
    EXPECT_FALSE(error) << out;
    return value.is_object() ? value.get_object() : boost::json::object();
}

TEST(Problem, HasAStatusOfAnError) {
    for (int i = 0; i < problems; ++i) {
        const int status = status_of(static_cast<Problem>(i));
        EXPECT_TRUE(status >= 400 && status < 600) << i << ": " << status;
    }
}

TEST(Problem, HasATypeOfItsOwn) {
    std::set<std::string_view> slugs;
    for (int i = 0; i < problems; ++i) {
        const std::string_view slug = slug_of(static_cast<Problem>(i));
        EXPECT_TRUE(slugs.insert(slug).second) << slug;
        EXPECT_EQ(slug.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string::npos) << slug;
        EXPECT_FALSE(slug.empty()) << i;
    }
}

TEST(Problem, IsRenderedWithItsTypeSentenceStatusAndAdvice) {
    for (int i = 0; i < problems; ++i) {
        const auto problem = static_cast<Problem>(i);
        const boost::json::object object = parsed({.problem = problem});
        EXPECT_EQ(object.at("type").as_string(),
                  "urn:turnpike:problem:" + std::string(slug_of(problem)));
        EXPECT_EQ(object.at("status").as_int64(), status_of(problem));
        EXPECT_TRUE(object.at("title").as_string().ends_with('.')) << i;
        EXPECT_FALSE(object.at("next").as_string().empty()) << i;
        EXPECT_FALSE(object.contains("detail"));
        EXPECT_FALSE(object.contains("job"));
    }
}

TEST(Problem, TellsItsDetailAndItsJob) {
    const boost::json::object object =
        parsed({.problem = Problem::no_pool, .detail = "no pool \"a\\b\n\"", .job = "abc"});
    EXPECT_EQ(object.at("detail").as_string(), "no pool \"a\\b\n\"");
    EXPECT_EQ(object.at("job").as_string(), "abc");
}

TEST(Problem, HasTheErrorThatOpenAIsClientsRead) {
    for (int i = 0; i < problems; ++i) {
        const auto problem = static_cast<Problem>(i);
        const boost::json::object object = parsed({.problem = problem});
        const boost::json::object& error = object.at("error").as_object();
        EXPECT_EQ(error.at("message").as_string(), object.at("title").as_string());
        EXPECT_EQ(error.at("code").as_string(), slug_of(problem));
        EXPECT_TRUE(error.at("type").as_string().ends_with("_error")) << error.at("type");
        EXPECT_EQ(error.at("type").as_string() == "server_error", status_of(problem) >= 500) << i;
        EXPECT_EQ(error.size(), 3);
    }
    const boost::json::object object =
        parsed({.problem = Problem::bad_input, .detail = "x is \"large\""});
    EXPECT_EQ(object.at("error").at("message").as_string(),
              "The model can't take this input: x is \"large\"");
}

TEST(Problem, SaysWhetherAProgramMaySendTheRequestAgain) {
    for (int i = 0; i < problems; ++i) {
        const int status = status_of(static_cast<Problem>(i));
        const bool is_final = status == 409 || (status >= 500 && status != 503 && status != 507);
        EXPECT_EQ(may_be_resent(static_cast<Problem>(i)), !is_final) << i;
    }
}

TEST(Problem, NamesTheLogThatMayTellMore) {
    const auto next = [](Problem problem, std::optional<std::uint64_t> lane) {
        return parsed({.problem = problem, .lane = lane}).at("next").as_string();
    };
    EXPECT_EQ(next(Problem::model_failed, 3), "Look at the worker's log (turnpike logs 3).");
    EXPECT_EQ(next(Problem::model_failed, {}), "Look at the worker's log.");
    EXPECT_EQ(next(Problem::worker_died, 0),
              "Look at the worker's log (turnpike logs 0); the job may be sent again.");
    EXPECT_EQ(next(Problem::poison, 3), next(Problem::poison, {}));
}

TEST(Problem, StaysValidJsonWhateverTheClientSent) {
    std::string bytes;
    for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
    EXPECT_TRUE(parsed({.problem = Problem::bad_header, .detail = bytes}).contains("detail"));
}

TEST(Problem, OfAJobFollowsFromWhyItEnded) {
    const std::vector<std::pair<EndReason, int>> rows{
        {EndReason::queue_full, 429},      {EndReason::bytes_full, 429},
        {EndReason::arrivals_full, 429},   {EndReason::lane_queue_full, 429},
        {EndReason::client_limit, 429},    {EndReason::crowded_out, 429},
        {EndReason::waited_too_long, 503}, {EndReason::no_lane, 503},
        {EndReason::aside_full, 503},      {EndReason::shutting_down, 503},
        {EndReason::worker_died, 502},     {EndReason::poison, 502},
        {EndReason::stream_broken, 502},   {EndReason::ran_too_long, 504},
        {EndReason::deadline_passed, 504}, {EndReason::bad_input, 400},
        {EndReason::model_failed, 500},    {EndReason::out_of_memory, 500},
        {EndReason::non_finite, 500},      {EndReason::lane_unknown, 404},
        {EndReason::cancel_asked, 409},    {EndReason::body_failed, 400},
        {EndReason::known_poison, 502},    {EndReason::rate_exceeded, 429}};
    for (const auto& [reason, status] : rows)
        EXPECT_EQ(status_of(problem_of(reason)), status) << name_of(reason);
}

}  // namespace
}  // namespace turnpike
