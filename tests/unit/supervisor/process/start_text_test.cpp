#include "supervisor/process/start_text.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

TEST(StartText, NamesThePartsThatAreKnown) {
    EXPECT_EQ(start_text({.spawn = 40ms, .import = 2900ms, .load = 10600us, .proof = 2600us}),
              "serves: spawn 40 ms, import 2900 ms, load 11 ms, proof 3 ms");
    EXPECT_EQ(start_text({.spawn = 3ms, .listen = 900ms, .load = 1ms}),
              "serves: spawn 3 ms, listen 900 ms, load 1 ms");
}

TEST(StartText, SaysThatAStartWasWarm) {
    EXPECT_EQ(start_text({.spawn = 40ms, .import = 31ms, .is_warm = true}),
              "serves: warm, spawn 40 ms, import 31 ms");
}

TEST(StartText, TellsTheFirstJobByItself) {
    EXPECT_EQ(first_job_text(1234567us), "first job took 1235 ms");
}

TEST(StartText, OfAWorkerWithoutPartsIsShort) { EXPECT_EQ(start_text({}), "serves"); }

}  // namespace
}  // namespace turnpike
