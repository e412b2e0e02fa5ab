// Follower: which place of the planned sequence an allocation is, told by sizes.
#include "iteration/follower.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace hearth::iteration {
namespace {

constexpr std::uint32_t kLost = Follower::kLost;

struct Loaded {
  explicit Loaded(const std::vector<std::uint64_t>& sizes, std::uint32_t empty_shift = Follower::kExact)
      : ready(follower.load(sizes, empty_shift)) {}
  ~Loaded() { follower.unload(); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  // The places of these allocations, one after the other.
  std::vector<std::uint32_t> feed(const std::vector<std::uint64_t>& sizes) {
    std::vector<std::uint32_t> places;
    for (const std::uint64_t bytes : sizes) places.push_back(follower.next(bytes));
    return places;
  }
  Follower follower;
  bool ready;
};

using Places = std::vector<std::uint32_t>;

std::vector<std::uint64_t> distinct(std::uint64_t count) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t i = 0; i < count; ++i) sizes.push_back(1000 + i);
  return sizes;
}

TEST(Follower, StaysInStepRoundAfterRound) {
  Loaded loaded(distinct(100));
  ASSERT_TRUE(loaded.ready);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(loaded.follower.cursor(), i % 100);
    ASSERT_EQ(loaded.follower.next(1000 + i % 100), i % 100);
  }
  EXPECT_EQ(loaded.follower.rounds(), 10u);
  EXPECT_EQ(loaded.follower.missed(), 0u);
}

TEST(Follower, InAnEmptySequenceEveryAllocationIsLost) {
  Loaded loaded({});
  ASSERT_TRUE(loaded.ready);
  EXPECT_EQ(loaded.feed({64, 64, 64, 0, 128}), Places(5, kLost));
  EXPECT_EQ(loaded.follower.missed(), 5u);
  EXPECT_EQ(loaded.follower.rounds(), 0u);
}

TEST(Follower, LoadsAfreshAfterUnload) {
  Loaded loaded({1, 2, 3, 4});
  loaded.feed({1, 2});
  loaded.follower.unload();
  EXPECT_EQ(loaded.follower.size(), 0u);
  const std::vector<std::uint64_t> other{7, 8};
  ASSERT_TRUE(loaded.follower.load(other));
  EXPECT_EQ(loaded.feed({7, 8, 7}), (Places{0, 1, 0}));
}

TEST(Follower, ExtraTensorsCostThemselvesOnly) {
  Loaded loaded(distinct(6));
  EXPECT_EQ(loaded.feed({1000, 5, 1001, 5, 5, 5, 1002, 1003}), (Places{0, kLost, 1, kLost, kLost, kLost, 2, 3}));
  EXPECT_EQ(loaded.follower.missed(), 4u);
  EXPECT_EQ(loaded.follower.resyncs(), 0u);
}

TEST(Follower, ThirdAllocationAfterASkipIsInStep) {
  Loaded loaded(distinct(20));
  EXPECT_EQ(loaded.feed({1000, 1001, 1010, 1011, 1012, 1013}), (Places{0, 1, kLost, kLost, 12, 13}));
  EXPECT_EQ(loaded.follower.resyncs(), 1u);
}

TEST(Follower, BackwardSkipCountsARound) {
  Loaded loaded(distinct(20));
  loaded.feed({1000, 1001, 1002, 1003, 1004, 1005});
  EXPECT_EQ(loaded.feed({1000, 1001, 1002, 1003}), (Places{kLost, kLost, 2, 3}));
  EXPECT_EQ(loaded.follower.rounds(), 1u);
}

// The dropped stretch ends the round; its three sizes lie on both sides of the end.
TEST(Follower, FindsPlacesAcrossTheEnd) {
  Loaded loaded(distinct(20));
  loaded.feed({1000, 1001, 1002});
  EXPECT_EQ(loaded.feed({1019, 1000, 1001, 1002}), (Places{kLost, kLost, 1, 2}));
  EXPECT_EQ(loaded.follower.rounds(), 1u);
}

// While out of step, one size is by chance the expected one; what came before it must not be forgotten for that.
TEST(Follower, AChanceMatchDoesNotHideWhatCameBeforeIt) {
  Loaded loaded({10, 11, 50, 12, 13, 14, 15, 70, 50, 80, 81, 82});
  loaded.feed({10, 11});
  EXPECT_EQ(loaded.feed({70, 50, 80, 81}), (Places{kLost, 2, 9, 10}));
}

TEST(Follower, AnyUniqueTripleIsInStepAtItsThird) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const auto count = static_cast<std::uint32_t>(4 + random() % 300);
    Loaded loaded(distinct(count));
    std::uint32_t at = 0;
    for (int jump = 0; jump < 50; ++jump) {
      const auto to = static_cast<std::uint32_t>(random() % count);
      const bool in_step = to == at;
      at = to;
      for (std::uint32_t i = 0; i < 2 + random() % 10; ++i, at = (at + 1) % count) {
        const std::uint32_t found = loaded.follower.next(1000 + at);
        const bool may_be_lost = i < 2 && !in_step;
        ASSERT_TRUE(found == at || (may_be_lost && found == kLost)) << "seed " << seed << " jump " << jump;
      }
      // Two allocations may still be too few; a third settles it.
      ASSERT_EQ(loaded.follower.next(1000 + at), at) << "seed " << seed << " jump " << jump;
      at = (at + 1) % count;
    }
  }
}

// What it answers has the size that was asked for, whatever it is fed: a smaller place would be overrun.
TEST(Follower, NeverAnswersAPlaceOfAnotherSize) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> sizes(1 + random() % 60);
    const std::uint64_t kinds = 1 + random() % 6;
    for (std::uint64_t& size : sizes) size = 64 * (1 + random() % kinds);
    Loaded loaded(sizes);
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t bytes = 64 * (1 + random() % (kinds + 1));
      const std::uint32_t at = loaded.follower.next(bytes);
      ASSERT_TRUE(at == kLost || sizes[at] == bytes) << "seed " << seed;
      ASSERT_LT(loaded.follower.cursor(), sizes.size());
      if (random() % 100 == 0) loaded.follower.restart();
    }
  }
}

TEST(Follower, OfRepeatedLayersTheNextOneIsTaken) {
  constexpr std::uint32_t kLayers = 3000;  // as an unrolled recurrent network has them
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) sizes.insert(sizes.end(), {1, 2, 3, 4});
  sizes.insert(sizes.end(), {9, 8, 7});
  Loaded loaded(sizes);
  for (std::uint32_t layer = 0; layer + 1 < kLayers; layer += 2) {
    ASSERT_EQ(loaded.feed({1, 2}), (Places{4 * layer, 4 * layer + 1}));
    ASSERT_EQ(loaded.feed({4, 1, 2}), (Places{kLost, kLost, 4 * layer + 5}));  // 3 was left out
    ASSERT_EQ(loaded.feed({3, 4}), (Places{4 * layer + 6, 4 * layer + 7}));
  }
  EXPECT_EQ(loaded.feed({9, 8, 7}), (Places{4 * kLayers, 4 * kLayers + 1, 4 * kLayers + 2}));
  EXPECT_EQ(loaded.follower.rounds(), 1u);
}

TEST(Follower, RestartBeginsAnIterationWhateverCameBefore) {
  Loaded loaded(distinct(10));
  loaded.feed({1000, 1001, 77, 78});
  loaded.follower.restart();
  EXPECT_EQ(loaded.feed({1000, 1001}), (Places{0, 1}));
  EXPECT_EQ(loaded.follower.rounds(), 0u);
}

TEST(Follower, TakesOverWhatAnotherMissed) {
  Loaded one(distinct(10));
  Loaded two({1, 2, 3, 4, 5});
  one.feed({1000, 2, 3});
  EXPECT_EQ(two.follower.take_over(one.follower.wanted()), kLost);  // 1000, 2, 3 is nowhere
  EXPECT_EQ(two.follower.cursor(), 0u);
  one.feed({4});
  EXPECT_EQ(two.follower.take_over(one.follower.wanted()), 3u);
  EXPECT_EQ(two.feed({5, 1, 2}), (Places{4, 0, 1}));
}

TEST(Follower, TakesOverAtItsOwnCursor) {
  Loaded one(distinct(10));
  Loaded two({1, 2, 3, 1, 2, 3, 9});
  two.feed({1, 2});
  one.feed({1, 2, 3});
  EXPECT_EQ(two.follower.take_over(one.follower.wanted()), 2u);
}

// After a take-over, what came before it is known from the other one.
TEST(Follower, RemembersWhatItTookOver) {
  Loaded one(distinct(10));
  Loaded two({1, 2, 3, 4, 6, 5, 3, 6, 7});
  one.feed({1, 2, 3});
  ASSERT_EQ(two.follower.take_over(one.follower.wanted()), 2u);
  EXPECT_EQ(two.feed({5, 3, 6}), (Places{kLost, kLost, 7}));
}

TEST(Follower, SequencesOfOneTwoAndThree) {
  Loaded one({5});
  EXPECT_EQ(one.feed({5, 5, 6, 5, 6, 6, 6, 6, 5}), (Places{0, 0, kLost, 0, kLost, kLost, kLost, kLost, 0}));
  EXPECT_EQ(one.follower.rounds(), 4u);
  Loaded two({5, 6});
  EXPECT_EQ(two.feed({5, 6, 6, 5, 5, 6}), (Places{0, 1, kLost, 0, kLost, 1}));
  Loaded three({5, 6, 7});
  EXPECT_EQ(three.feed({6, 7, 5, 6, 7, 7, 5}), (Places{kLost, kLost, 0, 1, 2, kLost, 0}));
}

// A slot may stay empty by a quarter, and never overflows.
TEST(Follower, ElasticPlacesTakeWhatFitsThem) {
  Loaded loaded({1000, 4000, 1000, 16000}, 2);
  EXPECT_EQ(loaded.feed({1000, 3000, 750, 12345}), (Places{0, 1, 2, 3}));
  EXPECT_EQ(loaded.follower.missed(), 0u);
  EXPECT_EQ(loaded.follower.rounds(), 1u);
  EXPECT_EQ(loaded.feed({1001, 749}), (Places{kLost, kLost}));
  EXPECT_EQ(loaded.follower.missed(), 2u);
  EXPECT_EQ(loaded.follower.bytes_of(3), 16000u);
}

// One that outgrew its slot costs itself only: the next few places are looked at, and no further.
TEST(Follower, ElasticPlacesAreFoundAgainBehindOneThatOutgrewIts) {
  Loaded loaded({1000, 2000, 4000, 8000, 16000, 32000}, 2);
  EXPECT_EQ(loaded.feed({1000, 2900, 3999, 8000}), (Places{0, kLost, 2, 3}));
  EXPECT_EQ(loaded.follower.resyncs(), 1u);
  EXPECT_EQ(loaded.feed({900}), (Places{0})) << "around the end";
  std::vector<std::uint64_t> far(20, 100);
  far.push_back(5000);
  Loaded longer(far, 2);
  EXPECT_EQ(longer.feed({5000, 100}), (Places{kLost, 0}));
}

// The sizes of a loop that touches other rows each time: in step, iteration after iteration.
TEST(Follower, ElasticPlacesFollowSizesThatWander) {
  std::mt19937 random(3);
  std::vector<std::uint64_t> slots;
  for (int i = 0; i < 200; ++i) slots.push_back(20000 + random() % 1000000);
  Loaded loaded(slots, 2);
  for (int round = 0; round < 50; ++round) {
    for (std::uint32_t i = 0; i < slots.size(); ++i) {
      ASSERT_EQ(loaded.follower.next(slots[i] - random() % (slots[i] / 4)), i);
    }
  }
  EXPECT_EQ(loaded.follower.missed(), 0u);
}

}  // namespace
}  // namespace hearth::iteration
