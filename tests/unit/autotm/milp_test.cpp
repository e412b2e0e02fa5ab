#include "autotm/milp.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>

namespace hearth::autotm {
namespace {

// Takes of things with a worth and a weight as much worth as a sack holds; what is left of the sack is `rest`.
Program knapsack(const std::vector<double>& worths, const std::vector<double>& weights, double sack) {
  Program program;
  program.offset = 100;
  std::vector<Term> weight;
  for (std::size_t i = 0; i < worths.size(); ++i) {
    weight.push_back({program.add({0, 1, -worths[i], true, "take_" + std::to_string(i)}), weights[i]});
  }
  weight.push_back({program.add({0, kInfinity, 0, false, "rest"}), 1});
  program.add("sack", sack, sack, std::move(weight));
  return program;
}

class Milp : public testing::Test {
 protected:
  void SetUp() override {
    if (backend().empty()) GTEST_SKIP() << "built without a solver: install libhighs-dev or coinor-libcbc-dev";
  }
};

TEST_F(Milp, KnapsacksAreFilledAsWellAsCanBe) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> worths, weights;
    for (int i = 0; i < 10; ++i) {
      worths.push_back(static_cast<double>(1 + random() % 20));
      weights.push_back(static_cast<double>(1 + random() % 20));
    }
    double best = 0;
    for (unsigned bits = 0; bits < 1u << 10; ++bits) {
      double worth = 0, weight = 0;
      for (unsigned i = 0; i < 10; ++i) {
        worth += (bits >> i & 1) * worths[i];
        weight += (bits >> i & 1) * weights[i];
      }
      if (weight <= 40) best = std::max(best, worth);
    }
    const Program program = knapsack(worths, weights, 40);
    const Solution solution = solve(program, {.seconds = 10, .gap = 0, .start = {}});
    ASSERT_EQ(solution.status, Status::optimal);
    EXPECT_NEAR(solution.objective, 100 - best, 1e-6);
    EXPECT_NEAR(solution.bound, solution.objective, 1e-6);
    EXPECT_LT(program.violation(solution.values), 1e-6);
  }
}

TEST_F(Milp, WhatCannotBeIsSaid) {
  Program program = knapsack({1, 1}, {3, 3}, 10);
  program.add("at_least", 3, kInfinity, {{0, 1}, {1, 1}});
  const Solution solution = solve(program, {.seconds = 10, .gap = 0, .start = {}});
  EXPECT_EQ(solution.status, Status::infeasible);
  EXPECT_FALSE(solution.found());
}

TEST_F(Milp, AStartThatIsGoodEnoughIsKept) {
  const Program program = knapsack({10, 9, 8}, {5, 5, 5}, 10);
  const Solution solution = solve(program, {.seconds = 10, .gap = 0.5, .start = {1, 0, 1, 0}});
  EXPECT_EQ(solution.status, Status::optimal);
  EXPECT_LE(solution.objective, 82 + 1e-6);
}

TEST_F(Milp, TheSameProgramGetsTheSameAnswer) {
  std::vector<double> worths, weights;
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    worths.push_back(static_cast<double>(10 + random() % 3));
    weights.push_back(static_cast<double>(10 + random() % 3));
  }
  const Program program = knapsack(worths, weights, 100);
  const SolveOptions options{.seconds = 20, .gap = 0.001, .start = {}};
  EXPECT_EQ(solve(program, options).values, solve(program, options).values);
}

TEST(Program, TermsOfOneColumnAreAddedUpAndViolationsFound) {
  Program program = knapsack({1, 1}, {3, 4}, 10);
  program.add("twice", -kInfinity, 3, {{0, 1}, {1, 1}, {0, 1}});
  EXPECT_EQ(program.rows[1].count, 2u);
  EXPECT_EQ(program.violation(std::vector<double>{1, 1, 3}), 0);
  EXPECT_EQ(program.objective(std::vector<double>{1, 1, 3}), 98);
  EXPECT_GT(program.violation(std::vector<double>{1, 1, 2}), 0.05);     // the row
  EXPECT_GT(program.violation(std::vector<double>{2, 0, 4}), 0.4);      // a bound
  EXPECT_GT(program.violation(std::vector<double>{0.5, 1, 4.5}), 0.4);  // a whole number
}

TEST(Program, IsWrittenAsLp) {
  Program program = knapsack({1, 2}, {3, 4}, 10);
  program.add("range", 1, 2, {{0, 1}, {1, 1}});
  const std::string path = testing::TempDir() + "/program.lp";
  ASSERT_TRUE(write_lp(program, path));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  EXPECT_EQ(text.str(),
            "Minimize\n cost: -1 take_0 -2 take_1 +100\nSubject To\n sack: +3 take_0 +4 take_1 +1 rest = 10\n"
            " range_low: +1 take_0 +1 take_1 >= 1\n range: +1 take_0 +1 take_1 <= 2\n"
            "Bounds\n 0 <= take_0 <= 1\n 0 <= take_1 <= 1\nGenerals\n take_0\n take_1\nEnd\n");
  EXPECT_FALSE(write_lp(program, testing::TempDir() + "/no/such/folder/x.lp"));
}

}  // namespace
}  // namespace hearth::autotm
