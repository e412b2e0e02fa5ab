// find_repeats(): what the larger sequence has more is found where it repeats itself, and nothing else passes for it.
#include "scale/repeats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scale/align.h"

namespace hearth::scale {
namespace {

using testing::HasSubstr;

using Kinds = std::vector<std::uint64_t>;

Kinds kinds_of(const std::string& text) { return {text.begin(), text.end()}; }

Result<Repeats> found(const std::string& small, const std::string& large, std::uint32_t steps) {
  const Kinds a = kinds_of(small);
  const Kinds b = kinds_of(large);
  return find_repeats({a, a}, {b, b}, steps);
}

void expect_stretch(const Stretch& got, std::uint32_t begin, std::uint32_t period, std::uint32_t units) {
  EXPECT_EQ(got.begin, begin);
  EXPECT_EQ(got.period, period);
  EXPECT_EQ(got.units, units);
}

TEST(Repeats, LayersMakeAStretchInEachPass) {
  const auto made = found("<abcabc|zyxzyx>", "<abcabcabc|zyxzyxzyx>", 1);
  ASSERT_TRUE(made) << made.error();
  ASSERT_EQ(made->stretches.size(), 2u);
  expect_stretch(made->stretches[0], 1, 3, 3);
  expect_stretch(made->stretches[1], 11, 3, 3);
  EXPECT_EQ(made->inserted_units, 1u);
  EXPECT_EQ(made->alone.size() + made->large_alone, 0u);
}

TEST(Repeats, AStretchReachesAsFarAsItsPeriodHolds) {
  // What stands behind the layers begins as they do: "ab".
  const auto made = found("<abcabcab|>", "<abcabcabcab|>", 1);
  ASSERT_TRUE(made) << made.error();
  ASSERT_EQ(made->stretches.size(), 1u);
  expect_stretch(made->stretches[0], 1, 3, 3);
  // All that is outside has its partner.
  const std::string small = "<abcabcab|>";
  const std::string large = "<abcabcabcab|>";
  for (std::size_t i = 0; i < large.size(); ++i) {
    const bool outside = i < made->stretches[0].begin || i >= made->stretches[0].end();
    if (outside) {
      ASSERT_NE(made->partners[i], kAlone) << i;
      EXPECT_EQ(small[made->partners[i]], large[i]) << i;
    }
  }
}

TEST(Repeats, UnitsAreAsSmallAsAllStretchesPermit) {
  const auto alike = found("<ababab|cccccc>", "<ababababab|cccccccccc>", 2);
  ASSERT_TRUE(alike) << alike.error();
  EXPECT_EQ(alike->inserted_units, 2u);
  expect_stretch(alike->stretches[1], 12, 2, 5);
  const auto by_twos = found("<abcdabcd|eeee>", "<abcdabcdabcd|eeeeee>", 2);
  ASSERT_TRUE(by_twos) << by_twos.error();
  EXPECT_EQ(by_twos->inserted_units, 1u);
  expect_stretch(by_twos->stretches[0], 1, 4, 3);
  expect_stretch(by_twos->stretches[1], 14, 2, 3);
}

TEST(Repeats, WhatDiffersInBytesAloneStaysAPair) {
  const Kinds small = kinds_of("<aaa|A.b.c.d.>");
  const Kinds large = kinds_of("<aaaa|B.b.c.d.>");
  Kinds small_plain = small;
  Kinds large_plain = large;
  small_plain[5] = large_plain[6] = 'x';
  const auto made = find_repeats({small, small_plain}, {large, large_plain}, 1);
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(made->stretches.size(), 1u);
  EXPECT_EQ(made->partners[6], 5u);
  EXPECT_EQ(made->alone.size() + made->large_alone, 0u);
}

TEST(Repeats, FewElementsMayStandAlone) {
  const auto more = found("<ababab|12345678901234567890>", "<abababab|12345!678901234567890>", 1);
  ASSERT_TRUE(more) << more.error();
  EXPECT_EQ(more->stretches.size(), 1u);
  EXPECT_EQ(more->large_alone, 1u);
  EXPECT_TRUE(more->alone.empty());
  const auto fewer = found("<ababab|12345!678901234567890>", "<abababab|12345678901234567890>", 1);
  ASSERT_TRUE(fewer) << fewer.error();
  EXPECT_EQ(fewer->large_alone, 0u);
  EXPECT_EQ(fewer->alone, std::vector<std::uint32_t>{13});
}

TEST(Repeats, RefusesWhatIsNoRepetition) {
  const std::string filler(80, '.');
  EXPECT_THAT(found("<abcabc|>" + filler, "<abcabcdefghi|>" + std::string(80, '#'), 1).error(), HasSubstr("go apart"));
  EXPECT_THAT(found("<abcabc|>", "<abcabc|>", 1).error(), HasSubstr("no layer more"));
}

}  // namespace
}  // namespace hearth::scale
