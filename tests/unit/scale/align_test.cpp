// align() against the textbook's table: as many pairs as the longest common subsequence has.
#include "scale/align.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace hearth::scale {
namespace {

using Sequence = std::vector<std::uint64_t>;

std::size_t longest_common(const Sequence& a, const Sequence& b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      table[i + 1][j + 1] = a[i] == b[j] ? table[i][j] + 1 : std::max(table[i][j + 1], table[i + 1][j]);
    }
  }
  return table.back().back();
}

TEST(Align, PairsAreEqualInOrderAndAsManyAsThereCanBe) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Sequence sequences[2];
    for (Sequence& sequence : sequences) {
      sequence.resize(random() % 13);
      for (std::uint64_t& element : sequence) element = random() % 4;
    }
    const auto& [a, b] = sequences;
    const auto partners = align(a, b, 100);
    ASSERT_TRUE(partners.has_value());
    ASSERT_EQ(partners->size(), b.size());
    std::size_t pairs = 0;
    std::int64_t last = -1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::uint32_t i = (*partners)[j];
      if (i == kAlone) continue;
      ++pairs;
      ASSERT_LT(i, a.size());
      EXPECT_EQ(a[i], b[j]);
      EXPECT_GT(static_cast<std::int64_t>(i), last);
      last = i;
    }
    EXPECT_EQ(pairs, longest_common(a, b));
    const auto alone = static_cast<std::uint32_t>(a.size() + b.size() - 2 * pairs);
    EXPECT_TRUE(align(a, b, alone).has_value());
    if (alone > 0) {
      EXPECT_FALSE(align(a, b, alone - 1).has_value());
    }
  }
}

TEST(Align, LongSequencesThatDifferLittleTakeNoTime) {
  Sequence a(200'000);
  std::mt19937 random(2);
  for (std::uint64_t& element : a) element = random() % 50;
  Sequence b = a;
  for (int i = 0; i < 500; ++i) b.erase(b.begin() + static_cast<std::ptrdiff_t>(random() % b.size()));
  const auto partners = align(a, b, 1000);
  ASSERT_TRUE(partners.has_value());
  EXPECT_EQ(std::count(partners->begin(), partners->end(), kAlone), 0);
}

}  // namespace
}  // namespace hearth::scale
