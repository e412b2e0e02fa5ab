#include "autotm/autotm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autotm/decode.h"
#include "autotm/neighborhoods.h"
#include "policy/sentinel.h"
#include "simulate/simulate.h"
#include "unit/autotm/instances.h"

namespace hearth::autotm {
namespace {

// Layers that each write an activation, with scratch, and read it on the way back; weights that live for ever.
simulate::Workload training(std::uint32_t layers) {
  simulate::Workload workload;
  std::vector<std::vector<simulate::Use>> uses(2 * layers);
  const auto add = [&](std::uint64_t bytes, bool resident, std::uint32_t birth, std::uint32_t death) {
    const std::uint32_t last = 2 * layers - 1;
    workload.objects.emplace_back();
    workload.objects.back().bytes = bytes;
    workload.objects.back().resident = resident;
    workload.objects.back().planned = !resident;
    workload.objects.back().birth_op = resident ? 0 : birth;
    workload.objects.back().death_op = resident ? last : death;
    workload.objects.back().alive[0] = {birth, death + 1};
    return static_cast<std::uint32_t>(workload.objects.size() - 1);
  };
  for (std::uint32_t i = 0; i < layers; ++i) {
    const std::uint32_t back = 2 * layers - 1 - i;
    const std::uint64_t bytes = (1 + i % 3) << 20;
    const auto size = static_cast<double>(bytes);
    const std::uint32_t weight = add(bytes / 2, true, 0, 2 * layers - 1);
    const std::uint32_t activation = add(bytes, false, i, back);
    const std::uint32_t scratch = add(1 << 18, false, i, i);
    uses[i].insert(uses[i].end(), {{weight, size / 2, 0}, {activation, 0, size}, {scratch, 1 << 18, 1 << 18}});
    uses[back].insert(uses[back].end(), {{weight, size / 2, size / 2}, {activation, size, 0}});
  }
  for (const std::vector<simulate::Use>& of : uses) {
    workload.ops.push_back(
        {4e5, static_cast<std::uint32_t>(workload.uses.size()), static_cast<std::uint32_t>(of.size())});
    workload.uses.insert(workload.uses.end(), of.begin(), of.end());
  }
  workload.period = 2 * layers + 1;
  return workload;
}

tier::Machine machine() {
  tier::Machine m;
  m.fast = {.read = 10e9, .write = 5e9};
  m.slow = {.read = 1e9, .write = 0.5e9};
  m.move_to_fast = 2e9;
  m.move_to_slow = 1.5e9;
  return m;
}

constexpr double kCapacity = 8 << 20;
constexpr Mode kModes[] = {Mode::fixed, Mode::synchronous, Mode::asynchronous};

TEST(Autotm, ModesHaveNames) {
  for (const Mode mode : kModes) {
    Mode parsed = Mode::fixed;
    EXPECT_TRUE(parse_mode(name_of(mode), &parsed));
    EXPECT_EQ(parsed, mode);
  }
  Mode mode = Mode::fixed;
  EXPECT_FALSE(parse_mode("sometimes", &mode));
}

TEST(Autotm, SmallObjectsAreJoinedAndLargeOnesCut) {
  const simulate::Workload workload = training(12);
  const Slots slots(std::vector<double>(workload.ops.size(), 1e6), 24);
  const Items whole = make_items(workload, machine(), slots, {.neglect = 0});
  EXPECT_EQ(whole.items.size(), workload.objects.size());
  const Items cut = make_items(workload, machine(), slots, {.neglect = 0, .unit_bytes = 1 << 19});
  double bytes = 0, saved = 0, units = 0;
  for (const Item& item : cut.items) {
    EXPECT_LE(item.bytes, (1 << 19) + 1);
    units += item.units;
    bytes += item.bytes * item.units;
    for (const Cluster& cluster : item.clusters) {
      for (const Visit& visit : cluster.visits) saved += visit.more_ns * item.units;
    }
  }
  EXPECT_GT(units, static_cast<double>(cut.items.size()));
  double expected = 0, gained = 0;
  for (const simulate::Object& object : workload.objects) expected += static_cast<double>(object.bytes);
  for (const OpTime& op : cut.ops) gained += op.slow_ns - op.fast_ns;
  EXPECT_NEAR(bytes, expected, 1);
  EXPECT_NEAR(saved, gained, gained * 1e-9);
}

TEST(Autotm, WhatStartsTheSolverIsFeasible) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    test::Instance instance = test::random_instance(seed);
    if (seed % 3 == 0) test::measure_some(instance, seed);
    const simulate::Schedule sentinel =
        policy::schedule_sentinel(instance.workload, instance.machine, instance.capacity);
    const Slots slots(instance.op_ns, 8);
    const Items items = make_items(instance.workload, instance.machine, slots, {.neglect = 0, .unit_bytes = 16384});
    for (const Mode mode : kModes) {
      FormulaOptions how;
      how.mode = mode;
      how.capacity = instance.capacity;
      how.clean = seed % 2 == 0;
      const Formula formula = formulate(instance.workload, instance.machine, slots, items, how);
      const std::vector<double> values = values_like(instance.workload, slots, items, formula, sentinel, mode);
      EXPECT_LT(formula.program.violation(values), 1e-6) << seed << " " << name_of(mode);
    }
  }
}

// The placements of an op together have each of its operands fast for as large a share as the item is.
TEST(Autotm, PlacementsOfAnOpAreChosenInParts) {
  simulate::Workload workload = training(1);
  workload.costs = {{{0, 1}, 10e3, {5e3, 5e3}, {10e3, 15e3, 15e3, 80e3}}};
  workload.ops[0].cost = 0;
  const Slots slots(std::vector<double>(workload.ops.size(), 1e6), 24);
  const Items items = make_items(workload, machine(), slots, {.neglect = 0, .unit_bytes = 1 << 18});
  FormulaOptions how;
  how.mode = Mode::fixed;
  how.capacity = 1 << 30;
  const Formula formula = formulate(workload, machine(), slots, items, how);
  ASSERT_EQ(formula.exact.size(), 1u);
  const Configurations& exact = formula.exact[0];
  std::vector<double> values(formula.program.columns.size(), 0);
  for (const Term& fast : exact.fast) values[fast.column] = std::round(0.5 / fast.factor);
  complete(formula, values);
  EXPECT_LT(formula.program.violation(values), 1e-9);
  double sum = 0;
  for (std::uint32_t mask = 0; mask < 4; ++mask) sum += values[exact.first + mask];
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_NEAR(values[exact.first] + values[exact.first + 2], values[exact.fast[0].column] * exact.fast[0].factor, 1e-9);
  EXPECT_NEAR(values[exact.first] + values[exact.first + 1], values[exact.fast[1].column] * exact.fast[1].factor, 1e-9);
}

// A part costs what the whole does, its own values fit it, and whatever fits it fits the whole.
TEST(Autotm, PartsOfAProgramAreTheWholeWithTheRestKept) {
  std::size_t smaller = 0;
  for (std::uint32_t seed = 1; seed <= 15; ++seed) {
    const simulate::Workload workload = training(6 + seed % 8);
    const Slots slots(std::vector<double>(workload.ops.size(), 1e6), 24);
    const Items items = make_items(workload, machine(), slots, {.neglect = 0, .unit_bytes = 1 << 19});
    FormulaOptions how;
    how.capacity = kCapacity / 2;
    const Formula formula = formulate(workload, machine(), slots, items, how);
    const simulate::Schedule start = policy::schedule_sentinel(workload, machine(), how.capacity);
    const std::vector<double> values = values_like(workload, slots, items, formula, start, how.mode);
    Neighborhoods near(formula.program);
    ASSERT_TRUE(near.any());
    for (int round = 0; round < 5; ++round) {
      const Part part = near.next(values);
      const std::vector<double> own = part.values_of(values);
      smaller += part.columns.size() < values.size() ? 1 : 0;
      EXPECT_EQ(part.with(values, own), values);
      EXPECT_LT(part.program.violation(own), 1e-6);
      EXPECT_NEAR(part.program.objective(own), formula.program.objective(values), 1e-6);
      const Solution solution = solve(part.program, {.seconds = 1, .gap = 0.001, .start = own});
      if (solution.values.empty()) continue;  // nothing to choose, or no solver
      EXPECT_LT(formula.program.violation(part.with(values, solution.values)), 1e-5);
      EXPECT_LE(solution.objective, part.program.objective(own) + 1e-6);
    }
  }
  EXPECT_GT(smaller, 40u);
}

class Solved : public testing::TestWithParam<Mode> {
 protected:
  void SetUp() override {
    if (backend().empty()) GTEST_SKIP() << "built without a solver: install libhighs-dev or coinor-libcbc-dev";
  }
};

// Each piece goes from tier to tier by its moves, ends where it began, and the simulator finds about what was foreseen.
TEST_P(Solved, SchedulesAreSound) {
  const simulate::Workload workload = training(16);
  Options options;
  options.mode = GetParam();
  options.seconds = 5;
  const Result<Answer> answer = schedule_autotm(workload, machine(), kCapacity, options);
  ASSERT_TRUE(answer) << answer.error();
  const simulate::Schedule& schedule = answer->schedule;
  EXPECT_EQ(schedule.moves.empty(), options.mode == Mode::fixed);
  std::vector<tier::Tier> now;
  for (const simulate::Piece& piece : schedule.pieces) now.push_back(piece.begin);
  for (const simulate::Move& move : schedule.moves) {
    EXPECT_NE(now[move.piece], move.to);
    EXPECT_LE(move.at, move.due);
    EXPECT_LE(move.due, workload.ops.size());
    now[move.piece] = move.to;
  }
  for (std::size_t p = 0; p < now.size(); ++p) {
    const bool stays = workload.objects[schedule.pieces[p].object].resident;
    EXPECT_TRUE(!stays || now[p] == schedule.pieces[p].begin);
  }
  const simulate::Outcome outcome = simulate::simulate(workload, machine(), schedule);
  EXPECT_LE(static_cast<double>(outcome.fast_peak), kCapacity + 1);
  EXPECT_LE(outcome.step_ns, simulate::all_slow_ns(workload, machine()));
  const double foreseen = answer->facts.sentinel ? answer->facts.sentinel_ns : answer->facts.solution.objective;
  EXPECT_NEAR(outcome.step_ns, foreseen, outcome.step_ns * 0.1);
}
// What is dropped has not been written since it was fetched: otherwise its slow copy is not what it was.
TEST_P(Solved, CleanMeansNotWrittenSince) {
  const simulate::Workload workload = training(16);
  tier::Machine keeping = machine();
  keeping.keeps_copies = true;
  Options options;
  options.mode = GetParam();
  options.seconds = 5;
  const Result<Answer> answer = schedule_autotm(workload, keeping, kCapacity, options);
  ASSERT_TRUE(answer) << answer.error();
  const auto ops = static_cast<std::uint32_t>(workload.ops.size());
  std::size_t dropped = 0;
  for (const simulate::Move& leave : answer->schedule.moves) {
    if (!leave.clean) continue;
    ++dropped;
    EXPECT_EQ(leave.to, tier::Tier::slow);
    const std::uint32_t object = answer->schedule.pieces[leave.piece].object;
    std::uint32_t since = 2 * ops;  // ops, from the last fetch on
    for (const simulate::Move& come : answer->schedule.moves) {
      if (come.piece != leave.piece || come.to != tier::Tier::fast) continue;
      since = std::min(since, (leave.at + ops - come.at) % ops == 0 ? ops : (leave.at + ops - come.at) % ops);
    }
    ASSERT_LE(since, ops) << "never fetched";
    for (std::uint32_t age = 1; age <= since; ++age) {
      const simulate::Op& op = workload.ops[(leave.at + ops - age) % ops];
      for (std::uint32_t u = op.first_use; u < op.first_use + op.uses; ++u) {
        EXPECT_FALSE(workload.uses[u].object == object && workload.uses[u].write > 0);
      }
    }
  }
  EXPECT_TRUE(options.mode != Mode::asynchronous || dropped > 0 || answer->facts.sentinel);
}
INSTANTIATE_TEST_SUITE_P(Modes, Solved, testing::ValuesIn(kModes),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST(Autotm, WithAllTheRoomThereIsNothingIsLost) {
  if (backend().empty()) GTEST_SKIP() << "built without a solver: install libhighs-dev or coinor-libcbc-dev";
  const simulate::Workload workload = training(8);
  const Result<Answer> answer = schedule_autotm(workload, machine(), 64 << 20, {});
  ASSERT_TRUE(answer) << answer.error();
  EXPECT_NEAR(answer->facts.schedule_ns, simulate::all_fast_ns(workload, machine()), 1);
}

}  // namespace
}  // namespace hearth::autotm
