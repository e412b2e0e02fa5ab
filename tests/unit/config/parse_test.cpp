// Every form of value that a knob takes or refuses, as tables.
#include "config/parse.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hearth::config {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = kKiB * 1024;
constexpr std::uint64_t kGiB = kMiB * 1024;
constexpr std::uint64_t kTiB = kGiB * 1024;

struct Case {
  std::string_view text;
  Verdict verdict;
  std::uint64_t value = 0;
};

template <class Parse>
void expect(const std::vector<Case>& cases, Parse parse) {
  for (const Case& c : cases) {
    const Parsed parsed = parse(c.text);
    EXPECT_EQ(parsed.verdict, c.verdict) << "'" << c.text << "'";
    if (c.verdict == Verdict::ok) {
      EXPECT_EQ(parsed.value, c.value) << "'" << c.text << "'";
    }
  }
}

KnobRow row_of(Kind kind, std::string_view range) { return {"HEARTH_X", kind, "", range, "", 0}; }

TEST(ParseBool, AcceptsEveryWordInAnyCase) {
  expect(
      {{"1", Verdict::ok, 1},         {"0", Verdict::ok, 0},      {"true", Verdict::ok, 1},  {"false", Verdict::ok, 0},
       {"on", Verdict::ok, 1},        {"off", Verdict::ok, 0},    {"yes", Verdict::ok, 1},   {"no", Verdict::ok, 0},
       {"TRUE", Verdict::ok, 1},      {"False", Verdict::ok, 0},  {"On", Verdict::ok, 1},    {"oFF", Verdict::ok, 0},
       {"Yes", Verdict::ok, 1},       {"NO", Verdict::ok, 0},     {"", Verdict::malformed},  {"2", Verdict::malformed},
       {"-1", Verdict::malformed},    {"y", Verdict::malformed},  {"t", Verdict::malformed}, {"01", Verdict::malformed},
       {"true1", Verdict::malformed}, {"0|1", Verdict::malformed}},
      [](std::string_view text) { return parse_bool(text); });
}

TEST(ParseInteger, TakesPlainDigitsOnly) {
  expect({{"0", Verdict::ok, 0},
          {"7", Verdict::ok, 7},
          {"007", Verdict::ok, 7},
          {"18446744073709551615", Verdict::ok, UINT64_MAX},
          {"18446744073709551616", Verdict::out_of_range},
          {"99999999999999999999999999", Verdict::out_of_range},
          {"", Verdict::malformed},
          {"-1", Verdict::malformed},
          {"+1", Verdict::malformed},
          {"1K", Verdict::malformed},
          {"0x10", Verdict::malformed},
          {"1.0", Verdict::malformed},
          {"1 2", Verdict::malformed},
          {"seven", Verdict::malformed}},
         [](std::string_view text) { return parse_integer(text); });
}

TEST(ParseSize, AcceptsUnitsAndDecimals) {
  expect({{"0", Verdict::ok, 0},
          {"4096", Verdict::ok, 4096},
          {"4096B", Verdict::ok, 4096},
          {"16K", Verdict::ok, 16 * kKiB},
          {"16k", Verdict::ok, 16 * kKiB},
          {"16kb", Verdict::ok, 16 * kKiB},
          {"16KB", Verdict::ok, 16 * kKiB},
          {"16KiB", Verdict::ok, 16 * kKiB},
          {"16 kib", Verdict::ok, 16 * kKiB},
          {"2M", Verdict::ok, 2 * kMiB},
          {"2MiB", Verdict::ok, 2 * kMiB},
          {"3G", Verdict::ok, 3 * kGiB},
          {"3gib", Verdict::ok, 3 * kGiB},
          {"1T", Verdict::ok, kTiB},
          {"1TiB", Verdict::ok, kTiB},
          {"1.5G", Verdict::ok, kGiB + kGiB / 2},
          {"0.5K", Verdict::ok, 512},
          {"0.000001M", Verdict::ok, 1},
          {"1.999999K", Verdict::ok, 2047}},
         [](std::string_view text) { return parse_size(text); });
}

TEST(ParseSize, RefusesEverythingElse) {
  expect({{"", Verdict::malformed},
          {" ", Verdict::malformed},
          {"K", Verdict::malformed},
          {"-1", Verdict::malformed},
          {"-16K", Verdict::malformed},
          {"+16K", Verdict::malformed},
          {"12Q", Verdict::malformed},
          {"12Ki B", Verdict::malformed},
          {"12iB", Verdict::malformed},
          {"12KK", Verdict::malformed},
          {"0x10", Verdict::malformed},
          {"1e6", Verdict::malformed},
          {"1.5", Verdict::malformed},
          {"1.5B", Verdict::malformed},
          {"1.K", Verdict::malformed},
          {".5K", Verdict::malformed},
          {"1.2.3K", Verdict::malformed},
          {"1.1234567G", Verdict::malformed},
          {"1,5G", Verdict::malformed},
          {"16 K 2", Verdict::malformed},
          {"nan", Verdict::malformed},
          {"99999999999999999999", Verdict::out_of_range},
          {"16777216T", Verdict::out_of_range},
          {"18446744073709551615K", Verdict::out_of_range}},
         [](std::string_view text) { return parse_size(text); });
}

TEST(ParseSize, ReachesTheLargestMultipleOfEachUnit) {
  EXPECT_EQ(parse_size("16777214T").value, 16777214 * kTiB);
  EXPECT_EQ(parse_size("16777214.5T").value, 16777214 * kTiB + kTiB / 2);
}

TEST(ParseValue, HoldsNumbersToTheirRange) {
  const KnobRow integer = row_of(Kind::integer, "1..64");
  expect({{"1", Verdict::ok, 1},
          {"64", Verdict::ok, 64},
          {" 8 ", Verdict::ok, 8},
          {"0", Verdict::out_of_range},
          {"65", Verdict::out_of_range},
          {"99999999999999999999", Verdict::out_of_range},
          {"", Verdict::malformed}},
         [&](std::string_view text) { return parse_value(integer, text); });
  const KnobRow size = row_of(Kind::size, "4K..1T");
  expect({{"4K", Verdict::ok, 4 * kKiB},
          {"1T", Verdict::ok, kTiB},
          {"\t4096\n", Verdict::ok, 4 * kKiB},
          {"4095", Verdict::out_of_range},
          {"1.000001T", Verdict::out_of_range}},
         [&](std::string_view text) { return parse_value(size, text); });
}

TEST(ParseValue, ReadsWeightsAndPercentages) {
  const KnobRow weights = row_of(Kind::weights, "0..100");
  const auto stored = [](std::uint64_t fast, std::uint64_t slow) { return Weights{fast, slow}.stored(); };
  expect({{"50", Verdict::ok, stored(50, 50)},
          {"0", Verdict::ok, stored(0, 100)},
          {"100", Verdict::ok, stored(100, 0)},
          {"1:2", Verdict::ok, stored(1, 2)},
          {" 3 : 1 ", Verdict::ok, stored(3, 1)},
          {"0:1", Verdict::ok, stored(0, 1)},
          {"1000:1", Verdict::ok, stored(1000, 1)},
          {"101", Verdict::out_of_range},
          {"0:0", Verdict::out_of_range},
          {"1001:1", Verdict::out_of_range},
          {"1:99999999999999999999", Verdict::out_of_range},
          {"", Verdict::malformed},
          {":", Verdict::malformed},
          {"1:", Verdict::malformed},
          {":1", Verdict::malformed},
          {"1:2:3", Verdict::malformed},
          {"50%", Verdict::malformed}},
         [&](std::string_view text) { return parse_value(weights, text); });
}

TEST(ParseValue, ReadsChoicesByPosition) {
  const KnobRow row = row_of(Kind::choice, "off|ops|faults|pages");
  expect({{"off", Verdict::ok, 0},
          {"ops", Verdict::ok, 1},
          {"Faults", Verdict::ok, 2},
          {" pages ", Verdict::ok, 3},
          {"", Verdict::malformed},
          {"op", Verdict::malformed},
          {"opsx", Verdict::malformed},
          {"off|ops", Verdict::malformed},
          {"1", Verdict::malformed}},
         [&](std::string_view text) { return parse_value(row, text); });
}

TEST(ParseValue, LimitsPathsToWhatTheKernelTakes) {
  const KnobRow row = row_of(Kind::path, "");
  const std::string longest(kPathCapacity - 1, 'a');
  EXPECT_EQ(parse_value(row, longest).verdict, Verdict::ok);
  EXPECT_EQ(parse_value(row, longest + "a").verdict, Verdict::too_long);
  EXPECT_EQ(parse_value(row, "  /tmp/a b ").value, 8u);
  EXPECT_EQ(parse_value(row, "").verdict, Verdict::ok);
}

}  // namespace
}  // namespace hearth::config
