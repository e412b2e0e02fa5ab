#include "costs/rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace hearth::costs {
namespace {

// Every want is met by an op of its kind in one of the rounds.
TEST(Rounds, MeetAllWants) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    std::mt19937 random(seed);
    const std::size_t objects = 4 + random() % 12;
    std::vector<Keyed> ops(3 + random() % 20);
    std::vector<Alike> alike(1 + random() % 6);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const std::size_t kind = random() % alike.size();
      const std::size_t operands = 1 + kind % 4;
      while (ops[i].objects.size() < operands) {
        const auto object = static_cast<std::uint32_t>(random() % objects);
        if (std::count(ops[i].objects.begin(), ops[i].objects.end(), object) == 0) ops[i].objects.push_back(object);
      }
      alike[kind].ops.push_back(i);
      alike[kind].key.operands.resize(operands);
    }
    std::erase_if(alike, [](const Alike& each) { return each.ops.empty(); });
    std::vector<Want> wants;
    for (std::size_t k = 0; k < alike.size(); ++k) {
      for (Mask mask = 0; mask <= all_slow(alike[k].key.operands.size()); ++mask) wants.push_back({k, mask});
    }
    const std::vector<Round> rounds = choose_rounds(ops, alike, wants, objects);
    EXPECT_LE(rounds.size(), wants.size());
    std::set<std::pair<std::size_t, Mask>> met;
    for (const Round& round : rounds) {
      ASSERT_EQ(round.size(), objects);
      for (std::size_t k = 0; k < alike.size(); ++k) {
        for (const std::size_t op : alike[k].ops) {
          Mask mask = 0;
          for (std::size_t i = 0; i < ops[op].objects.size(); ++i) mask |= round[ops[op].objects[i]] ? 1u << i : 0u;
          met.insert({k, mask});
        }
      }
    }
    for (const Want& want : wants) EXPECT_TRUE(met.contains({want.alike, want.slow})) << seed;
  }
}

TEST(Rounds, OneIsEnoughWhereNothingIsInTheWay) {
  std::vector<Keyed> ops(2);
  ops[0].objects = {0, 1};
  ops[1].objects = {2, 3};
  const std::vector<Alike> alike = {{{}, {0}, 0}, {{}, {1}, 0}};
  const std::vector<Round> rounds = choose_rounds(ops, alike, {{0, 1}, {1, 2}}, 5);
  ASSERT_EQ(rounds.size(), 1u);
  EXPECT_EQ(rounds[0], (Round{true, false, false, true, false}));
}

}  // namespace
}  // namespace hearth::costs
