#include "cli/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

namespace turnpike {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view page =
    R"({"address": "http://127.0.0.1:8000", "version":"0.1.0","uptime_s":7500.2,"ready":true,
  "shutting_down":false,"bytes_held":0,
  "pools":[{"pool":"chat","kind":"attached","model":"attached: 2 workers","ready":true,"generation":1,
            "proof":"none","arriving":0,"queued":3,"running":1,"oldest_wait_s":1.25,
            "expected_wait_s":0.5,"usual_run_s":0.42,
            "jobs":{"finished":10,"failed":2,"refused":0,"timed_out":1,"cancelled":0}}],
  "lanes":[{"lane":0,"pool":"chat","gpus":[],"worker":"http://127.0.0.1:8001","state":"busy",
            "generation":1,"pid":null,"slots":1,
            "jobs":[{"id":"3k9f2m1x0a7bq","run_s":0.4,"usual_s":0.42}],
            "finished":10,"failed":0,"restarts":0,"last_exit":null,"reason":null,"trouble":null},
           {"lane":1,"pool":"chat","gpus":[],"worker":"http://127.0.0.1:8002","state":"backoff",
            "generation":null,"pid":null,"slots":1,"jobs":[],"finished":0,"failed":2,
            "restarts":3,"last_exit":null,"reason":"load_silent",
            "trouble":"connection refused"}]})";

std::string shown(std::string_view json, TextStyle style = {}) {
    const auto text = status_text({.gate = "default", .json = json}, style);
    return text ? *text : "refused: " + text.error();
}

TEST(Status, ShowsGatePoolsAndLanes) {
    EXPECT_EQ(
        shown(page),
        "gate default  http://127.0.0.1:8000  version 0.1.0  up 2 h 5 min  ready\n"
        "\n"
        "POOL  READY  QUEUED  OLDEST  RUNNING  USUAL RUN  FINISHED  FAILED  REFUSED  TIMED OUT  "
        "CANCELLED\n"
        "chat  yes         3   1.2 s        1     420 ms        10       2        0          1  "
        "        0\n"
        "\n"
        "chat proof: none\n"
        "\n"
        "LANE  POOL  STATE    WORKER                 JOBS ABOARD           FINISHED  FAILED  "
        "RESTARTS  WHY\n"
        "   0  chat  busy     http://127.0.0.1:8001  3k9f2m1x0a7bq 400 ms        10       0  "
        "       0  -\n"
        "   1  chat  backoff  http://127.0.0.1:8002  -                            0       2  "
        "       3  loading showed no progress: connection refused\n");
}

constexpr std::string_view page_of_started_workers = R"({"lanes":[
  {"lane":0,"pool":"chat","state":"ready","worker":null,"pid":4711,
   "gpus":[{"index":0,"uuid":"GPU-a","name":"NVIDIA H200","memory_total":150323855360,
            "memory_used":3328599654}],
   "jobs":[],"finished":1,"failed":0,"restarts":0,"reason":null,"trouble":null,
   "last_line":null,"starting_s":null},
  {"lane":1,"pool":"chat","state":"loading","worker":null,"pid":4712,
   "gpus":[{"index":1,"uuid":"GPU-b","name":"NVIDIA H200","memory_total":150323855360,
            "memory_used":null}],
   "jobs":[],"finished":0,"failed":0,"restarts":2,"reason":null,"trouble":null,
   "last_line":"Loading weights","starting_s":3.25}]})";

TEST(Status, ShowsGpusProcessesAndMemoryWhereThereAreSome) {
    EXPECT_THAT(
        shown(page_of_started_workers),
        HasSubstr("LANE  POOL  GPU            STATE     PID  FINISHED  FAILED  RESTARTS          "
                  "  MEMORY  WHY\n"
                  "   0  chat  0 NVIDIA H200  ready    4711         1       0         0  3.1 of "
                  "140.0 GiB  -\n"
                  "   1  chat  1 NVIDIA H200  loading  4712         0       0         2          "
                  "       -  for 3.2 s: Loading weights\n"));
}

TEST(Status, SaysHowLongTheLatestStartOfALaneTookAndWithWhat) {
    const auto status = [](std::string_view start) {
        return shown(fmt::format(R"({{"lanes":[{{"lane":0,"pool":"chat","start":{}}}]}})", start));
    };
    EXPECT_THAT(
        status(R"({"spawn_ms":40.2,"import_ms":31,"load_ms":11,"proof_ms":null,"warm":true})"),
        HasSubstr(" 82 ms warm: spawn 40 ms\n"));
    EXPECT_THAT(status(R"({"spawn_ms":64,"listen_ms":2900,"load_ms":44})"),
                HasSubstr(" 3.0 s: listen 2.9 s\n"));
    EXPECT_THAT(status(R"({"spawn_ms":null})"), Not(HasSubstr("START")));
    EXPECT_THAT(status("null"), Not(HasSubstr("START")));
    EXPECT_THAT(status(R"({"spawn_ms":40},"starting_s":18)"), Not(HasSubstr("START")))
        << "it goes on";
    EXPECT_THAT(status(R"({"spawn_ms":40},"state":"failed")"), Not(HasSubstr("START")))
        << "it came to nothing";
}

TEST(Status, FitsIntoANarrowTerminalWithoutCountsThatAreZero) {
    EXPECT_THAT(shown(page, {.columns = 90}),
                AllOf(HasSubstr("FAILED  REFUSED  TIMED OUT\n"), Not(HasSubstr("CANCELLED"))));
    EXPECT_THAT(shown(page, {.columns = 80}), HasSubstr("FAILED  TIMED OUT\n"))
        << "one has timed out";
}

TEST(Status, SaysOfAPoolHowLongEachPartOfItsSlowestStartTook) {
    const auto status = [](std::string_view model, std::string_view starts,
                           std::string_view kind = "http") {
        return shown(
            fmt::format(R"({{"pools":[{{"pool":"a","kind":"{}","model":"{}"}}],"lanes":[{},)"
                        R"({{"pool":"b","start":{{"spawn_ms":9000}}}}]}})",
                        kind, model, starts));
    };
    constexpr std::string_view two =
        R"({"pool":"a","start":{"spawn_ms":40,"import_ms":3400,"load_ms":11,"proof_ms":null,
                                "first_job_ms":null}},
           {"pool":"a","start":{"spawn_ms":30,"import_ms":60,"load_ms":900,"proof_ms":2,
                                "first_job_ms":1200}})";
    EXPECT_THAT(status("m.py", two),
                HasSubstr("\na runs: m.py\na starts: spawn 40 ms, import 3.4 s, load 900 ms, proof "
                          "2.0 ms, first job 1.2 s (slowest of 2 lanes)\n\n"));
    EXPECT_THAT(status("serve", R"({"pool":"a","start":{"listen_ms":70,"first_job_ms":30}})"),
                HasSubstr("\na starts: listen 70 ms, first job 30 ms\n\n"));
    EXPECT_THAT(status("serve", R"({"pool":"a","start":{"listen_ms":null}})"),
                Not(HasSubstr("a starts")));
    EXPECT_THAT(status("m.py", R"({"pool":"a","start":{"spawn_ms":30},"starting_s":18})"),
                Not(HasSubstr("a starts")))
        << "it goes on";
    EXPECT_THAT(status("attached: 2 workers", two, "attached"), Not(HasSubstr("a starts")))
        << "who attaches starts nothing";
    EXPECT_THAT(status("attached: a name that somebody chose", two), HasSubstr("a starts"))
        << "the kind decides, not the text";
}

TEST(Status, LeavesColumnsOutThatHaveNothingToShow) {
    EXPECT_THAT(shown(page), Not(AnyOf(HasSubstr("GPU"), HasSubstr("PID"), HasSubstr("MEMORY"))));
    EXPECT_THAT(shown(page_of_started_workers), Not(HasSubstr("JOBS ABOARD")));
}

TEST(Status, NamesEveryGpuOfALane) {
    EXPECT_THAT(shown(R"({"lanes":[{"gpus":[{"index":2,"name":"A"},{"index":3,"name":"A"}]}]})"),
                HasSubstr("2,3 A"));
    EXPECT_THAT(shown(R"({"lanes":[{"gpus":[{"index":null,"uuid":"MIG-1","name":""}]}]})"),
                HasSubstr("MIG-1"));
}

TEST(Status, CutsLongUrlsAndReasons) {
    const std::string text = shown(R"({"lanes":[{"worker":"http://)" + std::string(300, 'w') +
                                   R"(","trouble":")" + std::string(300, 't') + R"("}]})");
    EXPECT_THAT(text, HasSubstr("\nhttp://" + std::string(30, 'w') + "... "));
    EXPECT_THAT(text, HasSubstr(fmt::format(" {:t>97}...\n", "")));
}

TEST(Status, FitsTheTerminal) {
    const std::string text = shown(page_of_started_workers, {.columns = 100});
    std::size_t widest = 0;
    for (std::size_t begin = text.find("LANE"); begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        widest = std::max(widest, end - begin);
        begin = end + 1;
    }
    EXPECT_EQ(widest, 100U);
    EXPECT_THAT(text, HasSubstr("for 3.2 s: Lo"));
}

TEST(Status, TellsWhatRunsAndWhatServesUnproved) {
    EXPECT_THAT(shown(R"({"pools":[{"pool":"a","model":"./a","proof":"passed"},
                                   {"pool":"b","model":"./b","proof":"none"}],
                         "lanes":[{"pool":"b","state":"ready"}]})"),
                HasSubstr("\n\na runs: ./a\nb runs: ./b\nb proof: none\n"));
    EXPECT_THAT(shown(R"({"pools":[{"pool":"b","model":"m.py","proof":"none"}],
                         "lanes":[{"pool":"b","state":"loading","starting_s":2}]})"),
                Not(HasSubstr("proof: none")))
        << "its example is known when it has loaded";
}

TEST(Status, TellsWhichPythonAModelRunsWith) {
    EXPECT_THAT(shown(R"({"pools":[{"pool":"a","model":"m.py:M","python":"/bin/python3"},
                                   {"pool":"b","model":"./w","python":null}]})"),
                HasSubstr("\na runs: m.py:M with /bin/python3\nb runs: ./w\n"));
}

TEST(Status, TellsWhatAModelSaysOfItself) {
    EXPECT_THAT(shown(R"({"pools":[{"pool":"a","model":"m.py"},{"pool":"b","model":"n.py"}],
                  "lanes":[{"pool":"a","sdk":null,"slots":1,"batch":1},
                           {"pool":"a","sdk":"turnpike-python 0.1.0","slots":2,"batch":16,
                            "model_facts":{"parameters":4810,"accuracy":0.98,"by":"\u001bme"}},
                           {"pool":"b","sdk":"turnpike-cpp 0.1.0","slots":1,"batch":1,
                            "model_facts":null}]})"),
                HasSubstr("\na runs: m.py, turnpike-python 0.1.0\na takes: 2 slots, batch 16\n"
                          "a facts: parameters 4810, accuracy 0.98, by ?me\nb runs: n.py, "
                          "turnpike-cpp 0.1.0\n\n"));
}

TEST(Status, ShowsHowFarAModelHasLoaded) {
    const auto lane = [](const std::string& loading) {
        return shown(R"({"lanes":[{"starting_s":3.2,"last_line":"x","loading":)" + loading + "}]}");
    };
    EXPECT_THAT(lane(R"({"fraction":0.405,"text":"layers"})"), HasSubstr("for 3.2 s: 40 % layers"));
    EXPECT_THAT(lane(R"({"fraction":null,"text":"importing"})"),
                HasSubstr("for 3.2 s: importing\n"));
    EXPECT_THAT(lane(R"({"fraction":1,"text":null})"), HasSubstr("for 3.2 s: 100 %\n"));
    EXPECT_THAT(lane("null"), HasSubstr("for 3.2 s: x\n"));
}

TEST(Status, PaintsOnlyIfColoursAreWanted) {
    EXPECT_THAT(shown(page), Not(HasSubstr("\x1b")));
    EXPECT_THAT(shown(page, {.colours = true}), HasSubstr("\x1b[32mbusy\x1b[0m"));
}

TEST(Status, SaysThatTheGateIsNotReadyOrEnds) {
    EXPECT_THAT(shown(R"({"ready":false})"), HasSubstr("  not ready\n"));
    EXPECT_THAT(shown(R"({"ready":true,"shutting_down":true})"), HasSubstr("  shutting down\n"));
}

TEST(Status, SaysWhyAPoolIsNotReady) {
    EXPECT_THAT(shown(R"({"pools":[{"ready":false,"proof":"pending"}]})"),
                HasSubstr("no: proof pending"));
    EXPECT_THAT(shown(R"({"pools":[{"ready":false,"proof":"no majority"}]})"),
                HasSubstr("no: proofs disagree"));
    EXPECT_THAT(shown(R"({"pools":[{"ready":true,"proof":"passed"}]})"), HasSubstr("yes"));
}

TEST(Status, SaysThatEveryLaneHasFailedRatherThanThatItsProofIsToCome) {
    const auto ready = [](std::string_view first, std::string_view second) {
        return shown(
            fmt::format(R"({{"pools":[{{"pool":"a","ready":false,"proof":"pending"}}],"lanes":[)"
                        R"({{"pool":"a","state":"{}"}},{{"pool":"a","state":"{}"}},)"
                        R"({{"pool":"b","state":"ready"}}]}})",
                        first, second));
    };
    EXPECT_THAT(ready("failed", "failed"), HasSubstr("no: every lane has failed"));
    EXPECT_THAT(ready("failed", "quarantined"), HasSubstr("no: every lane has failed"));
    EXPECT_THAT(ready("failed", "proving"), HasSubstr("no: proof pending"));
    EXPECT_THAT(ready("backoff", "failed"), HasSubstr("no: proof pending"));
}

TEST(Status, SaysWhatToDoAboutLanesThatAreOutOfService) {
    const auto end_of = [](std::string_view lanes, std::string_view gate = "default") {
        const auto text =
            status_text({.gate = gate, .json = fmt::format(R"({{"lanes":[{}]}})", lanes)}, {});
        return text.value_or("").substr(text.value_or("").rfind("\n\n") + 2);
    };
    EXPECT_EQ(
        end_of(R"({"lane":0,"state":"ready"},{"lane":1,"state":"failed"})"),
        "lane 1 is out of service; see: turnpike logs 1; then, to try at once: turnpike restart "
        "1\n");
    EXPECT_EQ(
        end_of(R"({"lane":0,"state":"quarantined"},{"lane":1,"state":"failed"})", "blue"),
        "lanes 0-1 are out of service; see: turnpike logs 0 --name blue; then, to try at once: "
        "turnpike restart all --name blue\n");
    EXPECT_THAT(end_of(R"({"lane":0,"state":"failed"},{"lane":1,"state":"ready"},)"
                       R"({"lane":2,"state":"failed"})"),
                HasSubstr("lanes 0, 2 are out of service; see: turnpike logs 0; "
                          "then, to try at once: turnpike restart LANE\n"));
    const auto of_a_model = [&end_of](std::string_view lane) {
        return end_of(fmt::format(R"({}],"pools":[{{"pool":"a","python":"python3"}})", lane));
    };
    EXPECT_THAT(of_a_model(R"({"lane":0,"state":"failed"})"),
                HasSubstr("to try at once: turnpike reload\n"))
        << "a restart would start the same code";
    EXPECT_THAT(of_a_model(R"({"lane":0,"state":"quarantined","reason":"gpu_lost"})"),
                HasSubstr("to try at once: turnpike restart 0\n"));
    EXPECT_THAT(of_a_model(R"({"lane":0,"state":"failed"},{"lane":1,"state":"ready"})"),
                HasSubstr("to try at once: turnpike restart 0\n"));
    for (const char* other : {R"({"lane":0,"state":"backoff"})",
                              R"({"lane":0,"state":"quarantined","worker":"http://a"})"})
        EXPECT_THAT(end_of(other), Not(HasSubstr("out of service"))) << other;
}

TEST(Status, CountsJobsThatAreTooManyToName) {
    EXPECT_THAT(shown(R"({"lanes":[{"jobs":[{"id":"a","run_s":1},{"id":"b","run_s":2},
                        {"id":"c","run_s":3},{"id":"d","run_s":4},{"id":"e","run_s":5}]}]})"),
                HasSubstr("a 1.0 s, b 2.0 s, c 3.0 s and 2 more"));
}

TEST(Status, ShowsWhatThereIsOfAGateOfAnotherVersion) {
    EXPECT_THAT(shown(R"({"pools":[7,{"pool":"x"}],"lanes":[[]]})"), HasSubstr("x     no"));
}

TEST(Status, RefusesWhatIsNoStatus) {
    EXPECT_THAT(shown("<html>"), HasSubstr("refused: the gate's answer is not a JSON object"));
}

TEST(Status, SaysWhenAFailedLaneTriesAgain) {
    const auto of_lane = [](std::string_view rest) {
        return shown(fmt::format(R"({{"lanes":[{{"lane":0,"state":"failed"{}}}]}})", rest));
    };
    EXPECT_THAT(of_lane(R"(,"reason":"crashed_too_often","next_try_s":252.4)"),
                HasSubstr("it crashed too often, next try in 4 min 12 s\n"));
    EXPECT_THAT(
        of_lane(R"(,"reason":"crashed_too_often","next_try_s":252,"trouble":"exit code 1")"),
        HasSubstr("it crashed too often, next try in 4 min 12 s: exit code 1\n"));
    EXPECT_THAT(of_lane(R"(,"reason":"crashed_too_often")"), Not(HasSubstr("next try")));
}

}  // namespace
}  // namespace turnpike
