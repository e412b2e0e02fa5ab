// JsonWriter: whatever goes in, what comes out is JSON that says the same.
#include "report/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace hearth::report {
namespace {

template <class Write>
std::string written(Write write) {
  std::string out;
  StringSink sink(out);
  JsonWriter json(sink);
  write(json);
  sink.flush();
  return out;
}

template <class Value>
std::string value(Value given) {
  return written([&](JsonWriter& json) { json.value(given); });
}

TEST(JsonWriter, PlacesCommasAtEveryDepth) {
  EXPECT_EQ(written([](JsonWriter& json) {
              json.begin_object().key("a").begin_array().value(1).value(2).begin_array().end_array().end_array();
              json.key("b").begin_object().end_object().member("c", true).key("d").null().end_object();
            }),
            R"({"a":[1,2,[]],"b":{},"c":true,"d":null})");
}

TEST(JsonWriter, EscapesText) {
  const std::string text("\"\\/\b\n\t\x01\x7F\0z", 11);
  EXPECT_EQ(nlohmann::json::parse(value(std::string_view(text))).get<std::string>(), text);
  EXPECT_EQ(value("caf\u00e9 \U0001F525"), "\"caf\u00e9 \U0001F525\"") << "UTF-8 stays as it is";
  EXPECT_EQ(value(static_cast<const char*>(nullptr)), "\"\"");
}

TEST(JsonWriter, ReplacesWhatIsNotUtf8) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(value("a\xFF"
                  "b"),
            "\"a" + mark + "b\"");
  EXPECT_EQ(value("\xC3"), "\"" + mark + "\"") << "cut short";
  EXPECT_EQ(value("\xC0\x80"), "\"" + mark + mark + "\"") << "overlong";
  EXPECT_EQ(value("\xED\xA0\x80"), "\"" + mark + mark + mark + "\"") << "surrogate";
  EXPECT_EQ(value("\xF4\x90\x80\x80"), "\"" + mark + mark + mark + mark + "\"") << "beyond U+10FFFF";
}

TEST(JsonWriter, EveryTwoBytesOfTextGiveValidJson) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const char text[] = {static_cast<char>(first), static_cast<char>(second), 'x'};
      const std::string json = value(std::string_view(text, sizeof(text)));
      ASSERT_FALSE(nlohmann::json::parse(json, nullptr, false).is_discarded()) << first << " " << second;
    }
  }
}

TEST(JsonWriter, WritesIntegersExactly) {
  EXPECT_EQ(value(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(value(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(value(0), "0");
  EXPECT_EQ(written([](JsonWriter& json) { json.hex(0xAB); }), "\"0x00000000000000ab\"");
}

TEST(JsonWriter, WritesDoublesFiniteAndShort) {
  EXPECT_EQ(value(0.0), "0");
  EXPECT_EQ(value(-0.0), "0");
  EXPECT_EQ(value(0.5), "0.5");
  EXPECT_EQ(value(-1.25), "-1.25");
  EXPECT_EQ(value(0.000001), "0.000001");
  EXPECT_EQ(value(0.9999999), "1") << "rounds up into the whole part";
  EXPECT_EQ(value(123456.789012), "123456.789012");
  EXPECT_EQ(value(std::nan("")), "null");
  EXPECT_EQ(value(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(value(1e300), "null");
}

TEST(JsonWriter, WritesRatiosWithoutFloatingPoint) {
  const auto ratio = [](std::uint64_t a, std::uint64_t b) {
    return written([&](JsonWriter& json) { json.ratio(a, b); });
  };
  EXPECT_EQ(ratio(3, 2), "1.5");
  EXPECT_EQ(ratio(2, 3), "0.666");
  EXPECT_EQ(ratio(4, 2), "2");
  EXPECT_EQ(ratio(1, 0), "null");
  EXPECT_EQ(ratio(UINT64_MAX - 1, UINT64_MAX), "0.999");
}

TEST(JsonWriter, ContinuesAnObject) {
  std::string out = R"({"a":1)";
  StringSink sink(out);
  JsonWriter json = JsonWriter::continuing(sink);
  json.member("b", 2).end_object();
  sink.flush();
  EXPECT_EQ(out, R"({"a":1,"b":2})");
}

}  // namespace
}  // namespace hearth::report
