#include "cli/status_clients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace turnpike {
namespace {

using testing::HasSubstr;

std::string shown(std::string_view json) {
    const auto text = clients_text({.gate = "default", .json = json}, {});
    return text ? *text : "refused: " + text.error();
}

TEST(StatusClients, ShowsThoseWithMostJobsFirst) {
    EXPECT_EQ(shown(R"({"clients":[
            {"client":"10.0.0.7","uploads":0,"queued":0,"running":1,"bytes":512,"refused":0,
             "oldest_wait_s":0},
            {"client":"key alice","uploads":1,"queued":20,"running":2,"bytes":3145728,"refused":4,
             "oldest_wait_s":1.25}]})"),
              "CLIENT     UPLOADS  QUEUED  OLDEST  RUNNING    BYTES  REFUSED\n"
              "key alice        1      20   1.2 s        2  3.0 MiB        4\n"
              "10.0.0.7         0       0     0 s        1    512 B        0\n");
}

TEST(StatusClients, SaysWhoIsSuspected) {
    const std::string text = shown(R"({"clients":[{"client":"key alice","suspected":false},
                                                  {"client":"key mallory","suspected":true}]})");
    EXPECT_THAT(text, HasSubstr("\nkey mallory: several of its jobs killed workers"));
    EXPECT_THAT(text, testing::Not(HasSubstr("key alice: ")));
}

TEST(StatusClients, SaysIfThereIsNobody) {
    EXPECT_EQ(shown(R"({"clients":[]})"), "no client has a job here, and none was refused\n");
}

TEST(StatusClients, SaysIfTheGateDoesNotTell) {
    EXPECT_THAT(shown(R"({"lanes":[]})"), HasSubstr("refused: this gate does not tell"));
    EXPECT_THAT(shown("no json"), HasSubstr("refused: "));
}

TEST(StatusClients, ShowsNoControlCharacters) {
    EXPECT_THAT(shown("{\"clients\":[{\"client\":\"key \\u001b[2J\",\"queued\":1}]}"),
                testing::Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace turnpike
