#include "supervisor/worker/answer_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace turnpike {
namespace {

AnswerHead taken(std::string_view lines) {
    AnswerHead head;
    take_fields(lines, head);
    return head;
}

TEST(AnswerFields, JudgeAnAnswerByItsStatus) {
    const std::vector<std::pair<int, Verdict>> rows{
        {200, Verdict::answered},  {399, Verdict::answered},     {400, Verdict::bad_input},
        {499, Verdict::bad_input}, {500, Verdict::model_failed}, {599, Verdict::model_failed}};
    for (const auto& [status, verdict] : rows) EXPECT_EQ(verdict_of(status), verdict) << status;
}

TEST(AnswerFields, ArePassedOnInTheirOrder) {
    EXPECT_EQ(taken("").fields, "");
    EXPECT_EQ(taken("B: 1\r\nA: 2\r\nB: 3\r\n").fields, "B: 1\r\nA: 2\r\nB: 3\r\n");
}

TEST(AnswerFields, AreWrittenInOneWay) {
    EXPECT_EQ(taken("A:1\r\nB:\t  2\r\nC:\r\n").fields, "A: 1\r\nB: 2\r\nC: \r\n");
    EXPECT_EQ(taken("A: b: c, http://d\r\n").fields, "A: b: c, http://d\r\n");
}

TEST(AnswerFields, OfTheConnectionAndOursAreDropped) {
    EXPECT_EQ(taken("Keep-Alive: timeout=5\r\nUpgrade: x\r\nTURNPIKE-Job: forged\r\nX: y\r\n"
                    "Trailer: z\r\n")
                  .fields,
              "X: y\r\n");
    EXPECT_EQ(taken("Turnpike: no prefix\r\n").fields, "Turnpike: no prefix\r\n");
}

TEST(AnswerFields, TellWhatTheWorkerDoesItself) {
    EXPECT_FALSE(taken("X: date\r\n").has_date);
    EXPECT_FALSE(taken("X: y\r\n").allows_origins);
    EXPECT_TRUE(taken("dAtE: today\r\n").has_date);
    EXPECT_TRUE(taken("access-Control-Allow-Origin: *\r\n").allows_origins);
    EXPECT_FALSE(taken("Access-Control-Allow-Methods: *\r\n").allows_origins);
}

TEST(AnswerFields, AreAddedToWhatIsThere) {
    AnswerHead head{.fields = "A: 1\r\n"};
    take_field({"B", "2"}, head);
    take_fields("C: 3\r\n", head);
    EXPECT_EQ(head.fields, "A: 1\r\nB: 2\r\nC: 3\r\n");
}

}  // namespace
}  // namespace turnpike
