// What the drip reads from an event's bytes, and what it writes around them.
#include <gtest/gtest.h>

#include "drip/json_payload.h"

namespace dripgate::drip {
namespace {

TEST(JsonPayload, TakesEveryValidDocument) {
  JsonPayload json;
  for (const char* text :
       {"{}", "[]", "1", "-0", "0.5e-7", "\"x\"", "null", "true", " {\"a\" : [1, {}, \"\\u0041\"]}\n",
        "123456789012345678901234567890", "{\"a\":1,\"a\":2}"}) {
    EXPECT_TRUE(json.is_document(text)) << text;
  }
}

TEST(JsonPayload, RefusesWhatIsNoDocument) {
  JsonPayload json;
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "nul",
                           "nullx",
                           "tru e",
                           "01",
                           "1.",
                           "+1",
                           "-",
                           "1e",
                           "{\"a\":1} x",
                           "1 2",
                           "1,2",
                           "1],[2",
                           "{\"a\":1}{",
                           "{\"a\" 1}",
                           "{\"a\":1,}",
                           "[1,]",
                           "[1 2]",
                           "[1,,2]",
                           "{'a':1}",
                           "\"a\nb\"",
                           "\"\\x\"",
                           "{1:2}",
                           "hello",
                           "NaN",
                           "[",
                           "]",
                           "\xff",
                           "{\"a\":\"\xc3\"}",
                           "{a:1}",
                           "[}",
                           "{]"}) {
    EXPECT_FALSE(json.is_document(text)) << text;
  }
  EXPECT_FALSE(json.is_document(std::string_view("{}\0", 3)));
}

TEST(JsonPayload, RefusesDocumentsThatAreTooDeep) {
  JsonPayload json;
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(json.is_document(nested(kJsonDepthMax)));
  EXPECT_EQ(json.check(nested(kJsonDepthMax + 2)), JsonCheck::too_deep);
  EXPECT_EQ(json.check(nested(100'000)), JsonCheck::too_deep);
  EXPECT_EQ(json.check("[}"), JsonCheck::not_json);
}

TEST(JsonPayload, KeepsTheTextOfNumbers) {
  JsonPayload json;
  const std::string body = R"({"amount": 2500.00, "big":123456789012345678901234567890 ,"e":1E+2,"t":true})";
  EXPECT_EQ(json.text_at(body, "amount"), "2500.00");
  EXPECT_EQ(json.text_at(body, "big"), "123456789012345678901234567890");
  EXPECT_EQ(json.text_at(body, "e"), "1E+2");
  EXPECT_EQ(json.text_at(body, "t"), "true");
}

TEST(JsonPayload, FindsMembersAndPointers) {
  JsonPayload json;
  const std::string body =
      R"({"a":{"b":[{"c":"deep"},7]},"x/y":"slash","~":"tilde","esc\u0061pe":"\u00e9","n":"1","n":"2"})";
  EXPECT_EQ(json.text_at(body, "/a/b/0/c"), "deep");
  EXPECT_EQ(json.text_at(body, "/a/b/1"), "7");
  EXPECT_EQ(json.text_at(body, "/x~1y"), "slash");
  EXPECT_EQ(json.text_at(body, "/~0"), "tilde");
  EXPECT_EQ(json.text_at(body, "escape"), "\xc3\xa9");
  EXPECT_EQ(json.text_at(body, "n"), "2");
  EXPECT_EQ(json.text_at("[5]", "/0"), "5");
}

TEST(JsonPayload, CountsNullEmptyAndContainersAsMissing) {
  JsonPayload json;
  const std::string body = R"({"null":null,"empty":"","object":{},"list":[1],"a":{"b":1}})";
  for (const char* name : {"null", "empty", "object", "list", "absent", "b", "/a/c", "/a/b/c", "/list/1",
                           "/list/-", "/list/00", "/"}) {
    EXPECT_EQ(json.text_at(body, name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace dripgate::drip
