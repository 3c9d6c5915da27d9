#include "proof/recording.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "proof/json_layout.h"
#include "proof/recorded_proof.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

ProofRequest request(const std::string& body) {
    return {.method = "POST", .path = "/predict", .body = proof_body("application/json", body)};
}

ProofAnswer answer(const std::string& body, int status = 200) {
    return {.status = status, .body = proof_body("application/json", body)};
}

Recording recording(const std::string& answered) {
    return {.model = "model.py:Digits",
            .recorded = "2026-11-15T20:40:00.000Z",
            .turnpike = "1.2.3",
            .request = request(R"({"pixels":[0,1]})"),
            .answer = answer(answered)};
}

TEST(Recording, LiesBesideTheModel) {
    using Kind = ModelChoice::Kind;
    EXPECT_EQ(recording_path({.kind = Kind::python, .path = "/a/b/model.py", .name = "Digits"}),
              "/a/b/model.proof.json");
    EXPECT_EQ(recording_path({.kind = Kind::program, .path = "/a/digits"}), "/a/digits.proof.json");
    EXPECT_EQ(recording_path({}), "");
}

TEST(Recording, IsReadAsItWasWritten) {
    for (const std::string& body :
         {std::string(R"({"digit":7,"scores":[0.1,1e-7,12345678901234567890]})"),
          std::string("no JSON"), std::string("\xff\x00\x80", 3), std::string()}) {
        const auto back = parse_recording(text_of(recording(body)));
        ASSERT_TRUE(back) << back.error();
        EXPECT_EQ(back->model, "model.py:Digits");
        EXPECT_EQ(back->turnpike, "1.2.3");
        EXPECT_TRUE(is_same_request(back->request, request(R"({ "pixels": [0, 1] })")));
        EXPECT_TRUE(is_json(body) || back->answer.body.bytes == body);
        EXPECT_EQ(back->tolerance_relative, recorded_tolerance_relative);
        EXPECT_FALSE(difference_from(*back, answer(body)));
    }
}

TEST(Recording, IsMadeForPeople) {
    const std::string text = text_of(recording(R"({"digit":7,"p":0.1})"));
    EXPECT_TRUE(text.contains("\n  \"version\": 1,\n")) << text;
    EXPECT_TRUE(text.contains("{\"digit\": 7, \"p\": 0.1}")) << text;
    EXPECT_TRUE(text.ends_with("}\n"));
}

TEST(Recording, SaysWhatIsWrongWithIt) {
    const auto objection = [](const std::string& text) {
        const auto read = parse_recording(text);
        return read ? std::string() : read.error();
    };
    EXPECT_TRUE(objection("{").contains("not valid JSON"));
    EXPECT_TRUE(objection("[1]").contains("not a JSON object"));
    EXPECT_TRUE(objection("{}").contains("version"));
    EXPECT_TRUE(objection(R"({"version":1})").contains("request"));
    EXPECT_TRUE(objection(R"({"version":1,"request":{}})").contains("answer"));
    EXPECT_TRUE(objection(R"({"version":1,"request":{},"answer":{}})").contains("status"));
    EXPECT_TRUE(objection(R"({"version":1,"request":{},"answer":{"status":200,"base64":"!"}})")
                    .contains("base64"));
    EXPECT_TRUE(objection(R"({"version":1,"request":{},"answer":{"status":200},
                              "tolerance":{"absolute":-1}})")
                    .contains("tolerance"));
    EXPECT_EQ(objection(R"({"version":1,"request":{},"answer":{"status":200}})"), "");
}

TEST(Recording, AllowsForWhatGpusDoToSums) {
    const Recording near = recording(R"({"p":0.5,"n":1000000,"s":"x"})");
    EXPECT_FALSE(difference_from(near, answer(R"({"p":0.50002,"n":1000000,"s":"x"})")));
    const auto difference = difference_from(near, answer(R"({"p":0.5002,"n":1000000,"s":"x"})"));
    ASSERT_TRUE(difference);
    EXPECT_EQ(text_of(*difference), ".p: 0.5002 here, 0.5 expected");
    EXPECT_EQ(difference_from(near, answer(R"({"p":0.5,"n":1000001,"s":"x"})"))->where, ".n");
    EXPECT_EQ(difference_from(near, answer("{}", 201))->where, "status");
}

TEST(JsonLayout, FillsLinesWithNumbersAndKeepsEveryLiteral) {
    std::string list = "[";
    for (int i = 0; i < 200; ++i) list += (i == 0 ? "" : ",") + std::to_string(i) + ".50";
    const std::string out = laid_out("{\"a\":" + list + "],\"b\":\"x, {y}: \\\"z\\\"\",\"c\":{}}");
    EXPECT_TRUE(out.contains("0.50, 1.50, 2.50,")) << out;
    EXPECT_TRUE(out.contains("\"b\": \"x, {y}: \\\"z\\\"\"")) << out;
    EXPECT_TRUE(out.contains("\"c\": {}")) << out;
    std::size_t begin = 0;
    for (std::size_t end = out.find('\n'); end != std::string::npos; end = out.find('\n', begin)) {
        EXPECT_LE(end - begin, 100U) << out.substr(begin, end - begin);
        begin = end + 1;
    }
}

struct Recorded : testing::Test {
    TemporaryFolder folder;
    const std::string path = folder.file("model.proof.json");
    const ProofRequest example = request(R"({"pixels":[0,1]})");

    RecordedProof generation() { return {path, "model.py"}; }
    void write(const std::string& text) { std::ofstream(path) << text; }
    void record(const std::string& answered) {
        ASSERT_TRUE(write_recording(path, recording(answered)));
    }
};

TEST_F(Recorded, WithoutAFileEveryAnswerPasses) {
    RecordedProof proof = generation();
    const Judgement judgement = proof.judge(example, answer("[1]"));
    EXPECT_EQ(judgement.verdict, ProofVerdict::passed);
    EXPECT_EQ(judgement.by, ProofBy::example);
    EXPECT_EQ(judgement.remark, "");
}

TEST_F(Recorded, IsWhatTheAnswerMustBe) {
    record(R"({"digit":7})");
    RecordedProof proof = generation();
    EXPECT_EQ(proof.judge(example, answer(R"({"digit":7})")).by, ProofBy::recording);
    const Judgement wrong = proof.judge(example, answer(R"({"digit":1})"));
    EXPECT_EQ(wrong.verdict, ProofVerdict::failed);
    EXPECT_EQ(wrong.trouble, ".digit: 1 here, 7 expected (model.proof.json)");
}

TEST_F(Recorded, OfAnotherExampleIsOutdated) {
    record(R"({"digit":7})");
    RecordedProof proof = generation();
    const Judgement judgement = proof.judge(request("[2]"), answer(R"({"digit":1})"));
    EXPECT_EQ(judgement.verdict, ProofVerdict::passed);
    EXPECT_EQ(judgement.by, ProofBy::example);
    EXPECT_TRUE(judgement.remark.contains("outdated")) << judgement.remark;
}

TEST_F(Recorded, ThatCantBeReadIsAFailedProof) {
    write("{");
    RecordedProof proof = generation();
    const Judgement judgement = proof.judge(example, answer("[1]"));
    EXPECT_EQ(judgement.verdict, ProofVerdict::failed);
    EXPECT_TRUE(judgement.trouble.contains("model.proof.json: it is not valid JSON"))
        << judgement.trouble;
    std::filesystem::remove(path);
    EXPECT_EQ(proof.judge(example, answer("[1]")).verdict, ProofVerdict::passed)
        << "and mended by removing it";
}

TEST_F(Recorded, ThatChangesLaterTakesNobodyDown) {
    record("[1]");
    RecordedProof held = generation();
    EXPECT_EQ(held.judge(example, answer("[1]")).by, ProofBy::recording);
    record("[2]");
    EXPECT_EQ(held.judge(example, answer("[1]")).verdict, ProofVerdict::passed);
    EXPECT_EQ(held.judge(example, answer("[2]")).verdict, ProofVerdict::passed)
        << "what it is now is right, too";
    EXPECT_EQ(held.judge(example, answer("[3]")).verdict, ProofVerdict::failed);
    EXPECT_EQ(generation().judge(example, answer("[1]")).verdict, ProofVerdict::failed)
        << "newer code is held to the newer one";
}

TEST_F(Recorded, ThatComesLaterCountsOnceAnAnswerMatchesIt) {
    RecordedProof free = generation();
    EXPECT_EQ(free.judge(example, answer("[1]")).by, ProofBy::example);
    record("[2]");
    const Judgement other = free.judge(example, answer("[1]"));
    EXPECT_EQ(other.verdict, ProofVerdict::passed);
    EXPECT_TRUE(other.remark.contains("next reload")) << other.remark;
    record("[1]");
    EXPECT_EQ(free.judge(example, answer("[1]")).by, ProofBy::recording);
    EXPECT_EQ(free.judge(example, answer("[3]")).verdict, ProofVerdict::failed);
}

TEST_F(Recorded, IsReplacedByWhatWasAcceptedOnceTheCodeIsGood) {
    Recording edited = recording("[1.0]");
    edited.tolerance_absolute = 0.25;
    ASSERT_TRUE(write_recording(path, edited));
    RecordedProof proof = generation();
    proof.accept();
    EXPECT_EQ(proof.judge(example, answer("[2.0]")).verdict, ProofVerdict::passed);
    EXPECT_EQ(proof.judge(example, answer("[9.0]")).verdict, ProofVerdict::failed)
        << "its lanes must agree";
    EXPECT_FALSE(difference_from(**read_recording(path), answer("[1.0]")))
        << "not before it is good";
    EXPECT_EQ(proof.keep({.recorded = "now", .turnpike = "9"}), true);
    const Recording kept = **read_recording(path);
    EXPECT_FALSE(difference_from(kept, answer("[2.0]")));
    EXPECT_TRUE(difference_from(kept, answer("[1.0]")));
    EXPECT_EQ(kept.tolerance_absolute, 0.25) << "what somebody chose stays";
    EXPECT_EQ(kept.recorded, "now");
    EXPECT_EQ(proof.keep({}), false) << "once";
}

TEST_F(Recorded, IsNotTouchedByCodeThatNobodyAccepted) {
    record("[1]");
    RecordedProof proof = generation();
    EXPECT_EQ(proof.judge(example, answer("[2]")).verdict, ProofVerdict::failed);
    EXPECT_EQ(proof.keep({}), false);
    EXPECT_FALSE(difference_from(**read_recording(path), answer("[1]")));
}

TEST_F(Recorded, SaysWhyItCantBeWritten) {
    const auto written = write_recording("/nowhere/at/all/model.proof.json", recording("[1]"));
    ASSERT_FALSE(written);
    EXPECT_TRUE(written.error().contains("/nowhere/at/all/")) << written.error();
    RecordedProof proof = generation();
    proof.accept();
    std::ignore = proof.judge(example, answer('"' + std::string(proof_body_max, 'x') + '"'));
    EXPECT_FALSE(proof.keep({})) << "an answer that was not kept whole";
    EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace turnpike
