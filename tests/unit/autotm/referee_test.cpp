// The optimum of the integer program against all placements tried.
#include <gtest/gtest.h>

#include "autotm/autotm.h"
#include "autotm/decode.h"
#include "policy/sentinel.h"
#include "simulate/simulate.h"
#include "unit/autotm/instances.h"

namespace hearth::autotm {
namespace {

using test::BruteForce;
using test::Instance;
using test::Moves;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint32_t kInstances = 50;  // each takes twenty times as long
#else
constexpr std::uint32_t kInstances = 500;
#endif

struct Exact {
  Slots slots;
  Items items;
  Formula formula;
  Solution solution;

  // Each op is a slot, unless there are to be fewer.
  Exact(const Instance& instance, Mode mode, std::uint32_t most_slots, bool clean, std::uint32_t count = 1000)
      : slots(instance.op_ns, count) {
    const ItemOptions whole{.neglect = 0, .unit_bytes = 0, .patience = 0, .clusters = 0, .writes = clean};
    items = make_items(instance.workload, instance.machine, slots, whole);
    FormulaOptions how;
    how.mode = mode;
    how.capacity = instance.capacity;
    how.clean = clean;
    how.most_slots = most_slots;
    formula = formulate(instance.workload, instance.machine, slots, items, how);
    solution = solve(formula.program, {.seconds = 60, .gap = 0, .start = {}});
  }
  double ns() const { return solution.objective * formula.ns; }
};

class Referee : public testing::Test {
 protected:
  void SetUp() override {
    if (backend().empty()) GTEST_SKIP() << "built without a solver: install libhighs-dev or coinor-libcbc-dev";
  }

  void compare(Mode mode, Moves moves, bool clean, bool measured = false) {
    for (std::uint32_t seed = 1; seed <= kInstances; ++seed) {
      Instance instance = test::random_instance(seed);
      if (measured) test::measure_some(instance, seed);
      // Trying all of many tensors' ways takes too long where copies may have any length.
      const bool many = instance.workload.objects.size() > 5;
      const std::uint32_t most_slots = many ? 1 : 1 + seed % 3;
      const Exact exact(instance, mode, most_slots, clean);
      ASSERT_EQ(exact.solution.status, Status::optimal) << seed;
      const double best = BruteForce(instance, moves, most_slots, clean).best();
      ASSERT_NEAR(exact.ns(), best, best * 1e-6 + 1e-3) << "seed " << seed;
    }
  }
};

TEST_F(Referee, Static) { compare(Mode::fixed, Moves::none, false); }
TEST_F(Referee, Synchronous) { compare(Mode::synchronous, Moves::waiting, false); }
TEST_F(Referee, Asynchronous) { compare(Mode::asynchronous, Moves::beside, false); }
TEST_F(Referee, SynchronousWithCleanCopies) { compare(Mode::synchronous, Moves::waiting, true); }
TEST_F(Referee, AsynchronousWithCleanCopies) { compare(Mode::asynchronous, Moves::beside, true); }

// Some ops take what was measured, additive or not.
TEST_F(Referee, StaticWithMeasuredCosts) { compare(Mode::fixed, Moves::none, false, true); }
TEST_F(Referee, SynchronousWithMeasuredCosts) { compare(Mode::synchronous, Moves::waiting, false, true); }
TEST_F(Referee, AsynchronousWithMeasuredCosts) { compare(Mode::asynchronous, Moves::beside, false, true); }
TEST_F(Referee, AsynchronousWithMeasuredCostsAndCleanCopies) { compare(Mode::asynchronous, Moves::beside, true, true); }

// Nothing moves, and room is looked at wherever most is alive: slots of several ops change nothing.
TEST_F(Referee, StaticInSlotsOfSeveralOps) {
  std::size_t coarse = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    Instance instance = test::random_instance(seed);
    std::fill(instance.op_ns.begin(), instance.op_ns.end(), 1000.0);
    const auto ops = static_cast<std::uint32_t>(instance.op_ns.size());
    const Exact exact(instance, Mode::fixed, 1, false, ops / 3);
    coarse += exact.slots.count() < ops ? 1 : 0;
    const double best = BruteForce(instance, Moves::none, 1, false).best();
    ASSERT_NEAR(exact.ns(), best, best * 1e-6 + 1e-3) << "seed " << seed;
  }
  EXPECT_GT(coarse, 150u);
}

// What is decoded of a static solution takes, by the simulator, what the program says, and keeps the capacity.
TEST_F(Referee, TheSimulatorAgreesOnWhatDoesNotMove) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    Instance instance = test::random_instance(seed);
    if (seed % 2 == 0) test::measure_some(instance, seed);
    const Exact exact(instance, Mode::fixed, 1, false);
    const simulate::Schedule schedule =
        decode(instance.workload, exact.slots, exact.items, exact.formula, exact.solution.values, instance.capacity);
    EXPECT_TRUE(schedule.moves.empty());
    const simulate::Outcome outcome = simulate::simulate(instance.workload, instance.machine, schedule);
    EXPECT_NEAR(outcome.step_ns, exact.ns(), exact.ns() * 1e-6) << seed;
    EXPECT_LE(static_cast<double>(outcome.fast_peak), instance.capacity + 1) << seed;
  }
}

// Each mode can do what the one before it can.
TEST_F(Referee, ModesOnlyAdd) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    const Instance instance = test::random_instance(seed);
    const double fixed = Exact(instance, Mode::fixed, 2, false).ns();
    const double waiting = Exact(instance, Mode::synchronous, 2, false).ns();
    const double beside = Exact(instance, Mode::asynchronous, 2, false).ns();
    const double clean = Exact(instance, Mode::asynchronous, 2, true).ns();
    EXPECT_LE(waiting, fixed * (1 + 1e-6)) << seed;
    EXPECT_LE(beside, waiting * (1 + 1e-6)) << seed;
    EXPECT_GT(clean, 0) << seed;
  }
}

}  // namespace
}  // namespace hearth::autotm
