#include <gtest/gtest.h>

#include <random>

#include "plan/json_reader.h"
#include "plan/json_writer.h"
#include "plan/validate.h"
#include "policy/baselines.h"
#include "policy/grid.h"
#include "policy/improve.h"
#include "policy/parts.h"
#include "policy/placing.h"
#include "policy/room.h"
#include "policy/schedule_of.h"
#include "policy/search.h"
#include "policy/sentinel.h"
#include "policy/tiered_plan.h"
#include "simulate/simulate.h"
#include "unit/profile/events.h"

namespace hearth::policy {
namespace {

using profile::test::Script;
using simulate::Workload;

constexpr std::uint64_t kBig = 1 << 20;

tier::Machine machine() {
  tier::Machine m;
  m.fast = {.read = 10e9, .write = 5e9};
  m.slow = {.read = 2e9, .write = 0.7e9};
  m.move_to_fast = 1e9;
  m.move_to_slow = 0.7e9;
  return m;
}

// Forward: each layer reads its weight and the activation before it and writes its own, with scratch in between; then
// backward, the other way round.
profile::Profile training(std::uint32_t layers, std::uint32_t seed) {
  std::mt19937 random(seed);
  Script script;
  std::vector<std::uint64_t> weight, activation;
  for (std::uint32_t i = 0; i < layers; ++i) {
    weight.push_back(kBig / 4 * (1 + random() % 8));
    activation.push_back(kBig / 4 * (1 + random() % 16));
    script.live(1 + i, weight[i]);
  }
  std::uint32_t next = 1000;
  const auto layer = [&](std::uint32_t i, std::uint32_t own, std::uint32_t before, bool forward) {
    const std::uint32_t scratch = next++;
    script.begin("layer").alloc(scratch, kBig).operand(scratch, HEARTH_ACCESS_READ_WRITE, kBig);
    script.operand(1 + i, HEARTH_ACCESS_READ, weight[i]);
    if (forward) script.alloc(own, activation[i]);
    script.operand(own, forward ? HEARTH_ACCESS_WRITE : HEARTH_ACCESS_READ, activation[i]);
    if (before != 0) script.operand(before, HEARTH_ACCESS_READ, activation[i - 1]);
    script.free(scratch).end("layer");
  };
  for (std::uint32_t i = 0; i < layers; ++i) layer(i, 100 + i, i != 0 ? 99 + i : 0, true);
  for (std::uint32_t i = layers; i-- > 0;) {
    layer(i, 100 + i, i != 0 ? 99 + i : 0, false);
    script.free(100 + i);
  }
  std::vector<hearth_event> events = script.events();
  for (hearth_event& event : events) {
    const bool tensor = event.type == HEARTH_EVENT_LIVE || event.type == HEARTH_EVENT_ALLOC;
    if (tensor) event.flags = HEARTH_EVENT_FLAG_OWN_PAGES;
  }
  return profile::build(events, script.names());
}

double step_of(const Workload& workload, const simulate::Schedule& schedule) {
  return simulate::simulate(workload, machine(), schedule).step_ns;
}

double peak_of(const Workload& workload) {
  const std::vector<float> all_fast(workload.objects.size(), 0.0F);
  return static_cast<double>(simulate::simulate(workload, machine(), all_fast).fast_peak);
}

TEST(Grid, SlotsAreCutsOfTimeAndKnowTheirOps) {
  const Grid grid({1.0, 1.0, 1000.0, 1.0});
  EXPECT_NEAR(grid.total_ns(), 1003, 1e-9);
  EXPECT_EQ(grid.slot_of(0), 0u);
  EXPECT_GT(grid.end_of(2) - grid.slot_of(2), 10u);  // a long op is cut
  for (std::uint32_t op = 0; op < 4; ++op) EXPECT_EQ(grid.op_at(grid.slot_of(op)), op);
  EXPECT_EQ(grid.slot_of(4), grid.count());
  EXPECT_NEAR(grid.begin_ns(grid.count() + grid.slot_of(3)), 2005, 1e-9);
  const std::uint32_t begin = grid.slot_of(2), end = grid.end_of(2);
  EXPECT_GE(grid.begin_ns(grid.after(begin, 300, end)), 302 - 1e-9);
  EXPECT_LT(grid.begin_ns(grid.after(begin, 300, end) - 1), 302);
  EXPECT_LE(grid.begin_ns(grid.before(end, 300, begin)), 702 + 1e-9);
  EXPECT_EQ(grid.after(begin, 1e9, end), end);
  EXPECT_EQ(grid.before(end, 1e9, begin), begin);
}

TEST(Room, LanesFillFromEitherEndAndGiveBack) {
  const Grid grid(std::vector<double>(10, 100.0));
  Room room(grid, 1000, 0);
  Placement first, second;
  Range taken;
  ASSERT_TRUE(room.early(kToSlow, {0, grid.count()}, 250, first, &taken));
  EXPECT_EQ(taken.from, 0u);
  EXPECT_NEAR(grid.begin_ns(taken.to), 250, 100);
  ASSERT_TRUE(room.late(kToSlow, {0, grid.count()}, 700, second, &taken));
  EXPECT_EQ(taken.to, grid.count());
  Placement third;
  EXPECT_FALSE(room.early(kToSlow, {0, grid.count()}, 60, third, &taken));
  room.release(third, 0);
  room.release(first, 0);
  EXPECT_TRUE(room.early(kToSlow, {0, grid.count()}, 290, third, &taken));
}

// Whatever is chosen keeps the capacity in every slot, and no lane works longer than a slot lasts.
TEST(Search, CapacityAndLanesHold) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    const Workload workload = simulate::make_workload(training(3 + seed, seed), {});
    const double capacity = peak_of(workload) * (0.1 + 0.05 * (seed % 6));
    const Grid grid(std::vector<double>(workload.ops.size(), 1e6));
    const Parts parts = make_parts(workload, machine(), grid, kBig);
    const Chosen chosen = search(workload, machine(), grid, parts, {.capacity = capacity});
    std::vector<double> held(grid.count(), 0), pooled(grid.count(), 0), lanes[2];
    for (std::vector<double>& lane : lanes) lane.assign(grid.count(), 0);
    for (std::size_t p = 0; p < parts.parts.size(); ++p) {
      const Placement& placement = chosen.placements[p];
      for (const Range range : placement.held) {
        for (std::uint32_t at = range.from; at < range.to; ++at) {
          (placement.pooled ? pooled : held)[at % grid.count()] += static_cast<double>(parts.parts[p].bytes);
        }
      }
      for (const Placement::Taken& taken : placement.taken) lanes[taken.lane][taken.slot] += taken.ns;
    }
    for (std::uint32_t slot = 0; slot < grid.count(); ++slot) {
      EXPECT_LE(held[slot], capacity - chosen.pool + 1) << seed;
      EXPECT_LE(pooled[slot], chosen.pool + 1) << seed;
      for (const std::vector<double>& lane : lanes) EXPECT_LE(lane[slot], grid.ns(slot) + 1e-3) << seed;
    }
  }
}

TEST(Sentinel, EverythingFitsAndNothingFits) {
  const Workload workload = simulate::make_workload(training(6, 1), {});
  const simulate::Schedule all = schedule_sentinel(workload, machine(), 1e12);
  EXPECT_NEAR(step_of(workload, all), simulate::all_fast_ns(workload, machine()), 1);
  const simulate::Schedule none = schedule_sentinel(workload, machine(), 0);
  EXPECT_NEAR(step_of(workload, none), simulate::all_slow_ns(workload, machine()), 1);
  EXPECT_TRUE(none.moves.empty());
}

// Ops that compute for longer than their memory takes gain nothing by it; what is allowed is used all the same.
TEST(Sentinel, RoomThatNobodyGainsByIsFilled) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    Workload workload = simulate::make_workload(training(8, seed), {});
    for (simulate::Op& op : workload.ops) op.self_ns = 1e9;
    const double capacity = peak_of(workload) * 0.3;
    const simulate::Schedule schedule = schedule_sentinel(workload, machine(), capacity);
    const simulate::Outcome outcome = simulate::simulate(workload, machine(), schedule);
    EXPECT_NEAR(outcome.step_ns, simulate::all_fast_ns(workload, machine()), 1) << seed;
    EXPECT_TRUE(schedule.moves.empty()) << seed;
    EXPECT_GT(static_cast<double>(outcome.fast_peak), capacity * 0.6) << seed;
    EXPECT_LE(static_cast<double>(outcome.fast_peak), capacity + 4096) << seed;
  }
}

// What the policy is for: less time than what users have today, on every one of these.
TEST(Sentinel, IsQuickerThanWhatUsersHave) {
  double ours_of_best = 0;
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    const Workload workload = simulate::make_workload(training(4 + seed % 9, seed), {});
    const double capacity = peak_of(workload) * 0.2;
    const double ours = step_of(workload, schedule_sentinel(workload, machine(), capacity));
    double best = step_of(workload, schedule_all(workload, tier::Tier::slow));
    for (const simulate::Schedule& other :
         {schedule_first_touch(workload, capacity), schedule_interleave(workload, capacity),
          schedule_tier_queue(workload, machine(), capacity)}) {
      const double theirs = step_of(workload, other);
      EXPECT_LE(ours, theirs * 1.001) << seed;
      best = std::min(best, theirs);
    }
    ours_of_best += ours / best / 30;
  }
  EXPECT_LT(ours_of_best, 0.9);
}

// With copies that take no time, room for what each op uses is enough.
TEST(Sentinel, MovesMakeLittleMemoryEnoughWhereCopiesAreQuick) {
  tier::Machine quick = machine();
  quick.move_to_fast = quick.move_to_slow = 1e13;
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    const Workload workload = simulate::make_workload(training(24, seed), {});
    const simulate::Schedule schedule = schedule_sentinel(workload, quick, peak_of(workload) * 0.3);
    EXPECT_FALSE(schedule.moves.empty());
    EXPECT_LE(simulate::simulate(workload, quick, schedule).step_ns, simulate::all_fast_ns(workload, quick) * 1.2)
        << seed;
  }
}

// What the search reckons with, slot by slot, is what the event model finds.
TEST(Search, TheSimulatorConfirmsIt) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    const Workload workload = simulate::make_workload(training(16, seed), {});
    const double capacity = peak_of(workload) * 0.25;
    std::vector<double> op_ns;
    const std::vector<float> all_fast(workload.objects.size(), 0.0F);
    for (const simulate::Op& op : workload.ops) op_ns.push_back(simulate::op_ns(workload, machine(), op, all_fast));
    const Grid grid(op_ns);
    const Parts parts = make_parts(workload, machine(), grid, kBig);
    const Chosen chosen = search(workload, machine(), grid, parts, {.capacity = capacity});
    const simulate::Schedule schedule = schedule_of(workload, grid, parts, chosen, capacity);
    const simulate::Outcome outcome = simulate::simulate(workload, machine(), schedule);
    EXPECT_LE(outcome.fast_peak, static_cast<std::uint64_t>(capacity) + 4096) << seed;
    EXPECT_NEAR(outcome.step_ns / (chosen.step_ns + workload.rest_ns), 1, 0.05) << seed;
  }
}

tier::Machine keeper() {
  tier::Machine m = machine();
  m.keeps_copies = true;
  return m;
}

bool writes(const Workload& workload, std::uint32_t op, std::uint32_t object) {
  for (std::uint32_t i = 0; i < workload.ops[op].uses; ++i) {
    const simulate::Use& use = workload.uses[workload.ops[op].first_use + i];
    if (use.object == object && use.write > 0) return true;
  }
  return false;
}

// An eviction without a copy follows a fetch, and between the two nothing writes.
TEST(Sentinel, OnlyWhatWasNotWrittenSinceItsFetchIsClean) {
  std::size_t clean = 0;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    const Workload workload = simulate::make_workload(training(8 + seed % 9, seed), {});
    const simulate::Schedule schedule = schedule_sentinel(workload, keeper(), peak_of(workload) * 0.2);
    const auto count = static_cast<std::uint32_t>(workload.ops.size());
    for (const simulate::Move& move : schedule.moves) {
      if (!move.clean) continue;
      ++clean;
      ASSERT_EQ(move.to, tier::Tier::slow);
      // Its last fetch, in this iteration or the one before.
      std::uint32_t back = 0;
      for (const simulate::Move& fetch : schedule.moves) {
        if (fetch.piece != move.piece || fetch.to != tier::Tier::fast) continue;
        // What leaves at an op leaves before anything comes at it.
        const std::uint32_t ago = fetch.at < move.at ? move.at - fetch.at : move.at + count - fetch.at;
        if (back == 0 || ago < back) back = ago;
      }
      ASSERT_GT(back, 0u);
      for (std::uint32_t ago = 1; ago <= back; ++ago) {
        EXPECT_FALSE(writes(workload, (move.at + count - ago) % count, schedule.pieces[move.piece].object)) << seed;
      }
    }
  }
  EXPECT_GT(clean, 0u);
}

TEST(Sentinel, KeptCopiesCostNothing) {
  double with = 0, without = 0;
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    const Workload workload = simulate::make_workload(training(16, seed), {});
    const double capacity = peak_of(workload) * 0.2;
    with += simulate::simulate(workload, keeper(), schedule_sentinel(workload, keeper(), capacity)).step_ns;
    without += step_of(workload, schedule_sentinel(workload, machine(), capacity));
  }
  EXPECT_LE(with, without * 1.005);
}

// Whatever is taken out and put back leaves everything as it was.
TEST(Placing, TakesBackWhatItDid) {
  const Workload workload = simulate::make_workload(training(12, 3), {});
  const Grid grid(std::vector<double>(workload.ops.size(), 1e6));
  const Parts parts = make_parts(workload, machine(), grid, kBig);
  Placing placing(workload, machine(), grid, parts, peak_of(workload) * 0.3, 0);
  const auto place_all = [&] {
    std::size_t placed = 0;
    for (std::uint32_t p = 0; p < parts.parts.size(); ++p) {
      const Modes modes = placing.modes_of(p);
      for (std::uint32_t i = 0; i < modes.count && placing.placement(p).slow(); ++i) {
        placed += placing.try_place(p, modes.modes[i]) ? 1 : 0;
      }
    }
    return placed;
  };
  const double all_slow = placing.cost();
  ASSERT_GT(place_all(), 3u);
  const double placed = placing.cost();
  EXPECT_LT(placed, all_slow);
  std::vector<Placing::Kept> kept;
  for (std::uint32_t p = 0; p < parts.parts.size(); ++p) kept.push_back(placing.take_out(p));
  EXPECT_NEAR(placing.cost(), all_slow, all_slow * 1e-9);
  for (std::uint32_t p = 0; p < parts.parts.size(); ++p) placing.put_back(p, kept[p]);
  EXPECT_NEAR(placing.cost(), placed, all_slow * 1e-9);
  improve(placing, 200);
  EXPECT_LE(placing.cost(), placed + 1);
  for (std::uint32_t p = 0; p < parts.parts.size(); ++p) placing.take_out(p);
  EXPECT_NEAR(placing.cost(), all_slow, all_slow * 1e-9);
}

TEST(Baselines, FirstTouchAndInterleaveKeepTheCapacity) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    const Workload workload = simulate::make_workload(training(8, seed), {});
    const double capacity = peak_of(workload) * 0.3;
    for (const simulate::Schedule& schedule :
         {schedule_first_touch(workload, capacity), schedule_interleave(workload, capacity),
          schedule_tier_queue(workload, machine(), capacity)}) {
      const simulate::Outcome outcome = simulate::simulate(workload, machine(), schedule);
      EXPECT_LE(static_cast<double>(outcome.fast_peak), capacity + 4096);
      EXPECT_GE(outcome.step_ns, simulate::all_fast_ns(workload, machine()) - 1);
      EXPECT_LE(outcome.step_ns, simulate::all_slow_ns(workload, machine()) * 1.001);
    }
  }
}

TEST(TieredPlan, IsSoundAndKeepsItsBudget) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    const profile::Profile profile = training(5 + seed, seed);
    for (const double part : {0.0, 0.05, 0.2, 0.6, 2.0}) {
      TierOptions options;
      options.fast_capacity = static_cast<std::uint64_t>(part * static_cast<double>(profile.peak_bytes));
      const Result<plan::Plan> plan = tiered_plan(profile, machine(), options);
      ASSERT_TRUE(plan) << plan.error();
      EXPECT_TRUE(plan::validate(*plan));
      EXPECT_EQ(plan->residency.policy, "sentinel");
      EXPECT_GE(plan->residency.prediction.step_ns, plan->residency.prediction.all_fast_ns);
      EXPECT_LE(plan->residency.prediction.step_ns, plan->residency.prediction.all_slow_ns);
      if (part >= 0.05) {
        EXPECT_LE(plan->residency.prediction.fast_peak, options.fast_capacity);
      }
      const Result<plan::Plan> read = plan::parse_plan(plan::to_json(*plan), "p.json");
      ASSERT_TRUE(read) << read.error();
      EXPECT_EQ(read->residency, plan->residency);
    }
  }
}

// Every tensor of the plan has one home; those with pages of their own are told about from their first page to their
// last, and begin at a page.
TEST(TieredPlan, StretchesCoverWhatHasPagesOfItsOwn) {
  for (const Policy policy : {Policy::sentinel, Policy::tier_queue}) {
    const profile::Profile profile = training(12, 5);
    TierOptions options;
    options.policy = policy;
    options.fast_capacity = profile.peak_bytes / 4;
    const Result<plan::Plan> plan = tiered_plan(profile, machine(), options);
    ASSERT_TRUE(plan) << plan.error();
    std::vector<std::uint64_t> told(plan->entries.size(), 0);
    for (const plan::Stretch& stretch : plan->residency.stretches) {
      if (stretch.of == plan::Stretch::Of::entry) told[stretch.index] += stretch.bytes;
    }
    std::size_t own = 0;
    for (std::size_t i = 0; i < plan->entries.size(); ++i) {
      const plan::Entry& entry = plan->entries[i];
      ASSERT_LT(entry.arena, plan->arenas.size());
      const bool has_own = plan->arenas[entry.arena].home == plan::Home::own;
      own += has_own ? 1 : 0;
      EXPECT_EQ(told[i], has_own ? entry.bytes : 0) << i;
    }
    EXPECT_GT(own, 0u);
    EXPECT_FALSE(plan->residency.moves.empty());
    EXPECT_EQ(plan->residency.births.size(), plan->entries.size());
  }
}

}  // namespace
}  // namespace hearth::policy
