#include "gate/model_field.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace turnpike {
namespace {

using Found = ModelField::Found;

/// Returns "=NAME", or what was found instead.
std::string outcome(ModelField& field) {
    switch (field.finish()) {
        case Found::name: return "=" + field.name();
        case Found::nothing: return "nothing";
        case Found::not_json: return "not JSON";
    }
    return "";
}

/// Returns what is found, and checks that it is the same for one piece, for two pieces split at any
/// byte, and byte by byte.
std::string model_of(std::string_view body) {
    ModelField whole;
    whole.take(body);
    const std::string expected = outcome(whole);
    for (std::size_t at = 0; at <= body.size(); ++at) {
        ModelField split;
        split.take(body.substr(0, at));
        split.take(body.substr(at));
        EXPECT_EQ(outcome(split), expected) << "split at " << at << " of " << body;
    }
    ModelField bytes;
    for (std::size_t at = 0; at < body.size(); ++at) bytes.take(body.substr(at, 1));
    EXPECT_EQ(outcome(bytes), expected) << "byte by byte: " << body;
    return expected;
}

TEST(ModelField, IsFoundWhereverItStands) {
    EXPECT_EQ(model_of(R"({"model":"a"})"), "=a");
    EXPECT_EQ(model_of(R"({"x":1,"model":"a","y":[2]})"), "=a");
    EXPECT_EQ(model_of(" \r\n\t{ \"x\" : { } , \"model\" : \"long name/v1.5\" } \n"),
              "=long name/v1.5");
    EXPECT_EQ(model_of(R"({"a":true,"b":null,"c":1.5e3,"d":-7,"e":"f","model":"g"})"), "=g");
}

TEST(ModelField, IsFoundAtTheTopLevelOnly) {
    EXPECT_EQ(model_of(R"({"x":{"model":"inner"}})"), "nothing");
    EXPECT_EQ(model_of(R"({"x":[{"model":"inner"}],"model":"outer"})"), "=outer");
    EXPECT_EQ(model_of(R"({"model":"outer","x":{"model":"inner"}})"), "=outer");
    EXPECT_EQ(model_of(R"({"x":["model","inner"]})"), "nothing");
    EXPECT_EQ(model_of(R"({"x":"model","y":"inner"})"), "nothing");
    EXPECT_EQ(model_of(R"({"model":{"model":"inner"}})"), "nothing");
    EXPECT_EQ(model_of(R"({"model":["inner"]})"), "nothing");
}

TEST(ModelField, IsNotFoundUnderAnotherName) {
    for (const std::string body :
         {R"({"models":"a"})", R"({"mode":"a"})", R"({"Model":"a"})", R"({"":"a"})",
          R"({"xmodel":"a"})", R"({"model ":"a"})", R"({"modelmodel":"a"})", "{}"})
        EXPECT_EQ(model_of(body), "nothing") << body;
}

TEST(ModelField, MustBeAString) {
    for (const std::string body : {R"({"model":1})", R"({"model":null})", R"({"model":true})",
                                   R"({"model":{}})", R"({"model":[]})"})
        EXPECT_EQ(model_of(body), "nothing") << body;
    EXPECT_EQ(model_of(R"({"model":""})"), "=");
}

TEST(ModelField, IsReadWithItsEscapes) {
    EXPECT_EQ(model_of(R"({"model":"a\"b\\c\/d"})"), "=a\"b\\c/d");
    EXPECT_EQ(model_of(R"({"mod\u0065l":"\u00e9\ud83d\ude00"})"), "=\xC3\xA9\xF0\x9F\x98\x80");
}

TEST(ModelField, IsNotFoundOutsideAJsonObject) {
    for (const std::string body :
         {"", " ", "[]", "\"model\"", "1", "null", "[{\"model\":\"a\"}]", "{", "{\"model\":\"a\"",
          "{\"model\":\"a\"}x", "{\"model\":\"a\"}{}", "{'model':'a'}", "{\"model\":\"a\",}",
          "{\"model\":\"\xff\"}", "model=a", "{\"model\":\"a\"} 1"})
        EXPECT_EQ(model_of(body), "not JSON") << body;
}

TEST(ModelField, IsFoundInABodyOfAnySize) {
    ModelField field;
    const std::string filler = R"("x":")" + std::string(1000, 'x') + "\",";
    field.take("{");
    for (int i = 0; i < 5000; ++i) field.take(filler);
    field.take(R"("model":"last"})");
    EXPECT_EQ(outcome(field), "=last");
}

TEST(ModelField, IsNotKeptWhenItIsTooLongToNameAPool) {
    ModelField field;
    field.take(R"({"model":")");
    for (int i = 0; i < 1000; ++i) field.take(std::string(10'000, 'm'));
    field.take("\"}");
    EXPECT_EQ(field.finish(), Found::nothing);
    EXPECT_LT(field.name().size(), 20'000U);
}

TEST(ModelField, CanBeMoved) {
    ModelField first;
    first.take(R"({"model":)");
    ModelField second = std::move(first);
    second.take(R"("a"})");
    EXPECT_EQ(outcome(second), "=a");
}

TEST(ModelField, IsTheLastOfSeveralAsInEveryOtherParser) {
    EXPECT_EQ(model_of(R"({"model":"a","model":"b"})"), "=b");
    EXPECT_EQ(model_of(R"({"model":"a","model":1})"), "nothing");
}

TEST(ModelField, IsTheSameHoweverALongNameIsSplit) {
    EXPECT_EQ(model_of(R"({"model":")" + std::string(256, 'm') + "\"}"),
              "=" + std::string(256, 'm'));
    EXPECT_EQ(model_of(R"({"model":")" + std::string(257, 'm') + "\"}"), "nothing");
}

TEST(ModelField, IsFoundInADeepBody) {
    std::string body = R"({"model":"a","x":)";
    for (int i = 0; i < 100; ++i) body += "[";
    for (int i = 0; i < 100; ++i) body += "]";
    EXPECT_EQ(model_of(body + "}"), "=a");
}

}  // namespace
}  // namespace turnpike
