// make_plan(): which tensors become entries, when they are taken to die, and in which arenas they lie.
#include "plan/make_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/validate.h"
#include "unit/plan/instances.h"
#include "unit/profile/events.h"

namespace hearth::plan {
namespace {

using profile::Profile;
using profile::test::Script;

constexpr std::uint64_t kBig = 65536;

// Everything from min_bytes on has pages of its own, as the runtime has it; what was alive at the begin was made by
// the op called `producer`.
Profile profile_of(const Script& script, const std::string& producer = "") {
  std::vector<hearth_event> events = script.events();
  std::vector<std::string> names = script.names();
  const auto found = std::find(names.begin(), names.end(), producer);
  const auto id = static_cast<std::uint32_t>(found - names.begin());
  if (found == names.end()) names.push_back(producer);
  for (hearth_event& event : events) {
    const bool live = event.type == HEARTH_EVENT_LIVE;
    if ((live || event.type == HEARTH_EVENT_ALLOC) && event.bytes >= 16384) event.flags = HEARTH_EVENT_FLAG_OWN_PAGES;
    if (live) event.name = id;
  }
  return profile::build(events, names);
}

Plan plan_of(const Script& script, const std::string& producer = "", const PlanOptions& options = {}) {
  const Result<Plan> plan = make_plan(profile_of(script, producer), options);
  EXPECT_TRUE(plan) << plan.error();
  return *plan;
}

TEST(MakePlan, AnEmptyIterationHasAnEmptyPlan) {
  const Plan plan = plan_of(Script());
  EXPECT_TRUE(plan.entries.empty());
  EXPECT_TRUE(plan.arenas.empty());
  EXPECT_TRUE(validate(plan));
}

TEST(MakePlan, WhatDiesWithinTheIterationIsPlanned) {
  Script script;
  script.begin("a").alloc(1, 100).alloc(2, kBig).alloc(3, kBig).free(2).end("a").alloc(4, kBig).free(3).free(4);
  const Plan plan = plan_of(script);
  ASSERT_EQ(plan.entries.size(), 3u) << "100 bytes are none";
  EXPECT_EQ(plan.entries[0].op, 0u);
  EXPECT_EQ(plan.entries[0].nth, 1u) << "small ones are counted";
  EXPECT_EQ(plan.entries[1].nth, 2u);
  EXPECT_EQ(plan.entries[2].op, profile::kOutside);
  EXPECT_EQ(plan.entries[0].birth, 2u);
  EXPECT_EQ(plan.entries[0].death, 4u);
  ASSERT_EQ(plan.arenas.size(), 1u);
  EXPECT_EQ(plan.arenas[0].bytes, 2 * kBig);
  EXPECT_EQ(plan.arenas[0].tensors, 3u);
  EXPECT_EQ(plan.period, 8u);
  EXPECT_EQ(plan.signature.allocations, 3u);
}

TEST(MakePlan, OtherThreadsAreNoEntries) {
  Script script;
  script.alloc(1, kBig).on(1).alloc(2, kBig).free(2).on(0).free(1);
  EXPECT_EQ(plan_of(script).entries.size(), 1u);
}

TEST(MakePlan, WhatHasNoPagesOfItsOwnIsLeftToTheHeap) {
  Script script;
  script.alloc(1, kBig).free(1);
  Profile profile = profile_of(script);
  profile.tensors[0].own_pages = false;
  const Result<Plan> plan = make_plan(profile);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->entries.size(), 1u);
  EXPECT_EQ(plan->entries[0].arena, kHeap);
}

TEST(MakePlan, AGradientTakesTheDeathOfItsCounterpart) {
  Script script;
  script.live(1, kBig).live(2, 2 * kBig).free(1).free(2);
  script.begin("backward").alloc(3, 2 * kBig).alloc(4, kBig).end("backward");
  const Plan plan = plan_of(script, "backward");
  ASSERT_EQ(plan.entries.size(), 2u);
  EXPECT_EQ(plan.entries[0].death, 2u) << "of the one with its size";
  EXPECT_EQ(plan.entries[1].death, 1u);
  EXPECT_EQ(plan.entries[0].arena, 0u);
  EXPECT_EQ(plan.arenas[0].lower_bound, 3 * kBig);
}

TEST(MakePlan, CounterpartsAreMatchedInOrderOfBirth) {
  Script script;
  script.live(8, kBig).live(7, kBig).free(8).free(7).begin("b").alloc(9, kBig).alloc(10, kBig).end("b");
  const Plan plan = plan_of(script, "b");
  EXPECT_EQ(plan.entries[0].death, 2u) << "tensor 7 was born first, whatever the order of the list";
  EXPECT_EQ(plan.entries[1].death, 1u);
}

TEST(MakePlan, WithoutCounterpartItGathersOnTheHeap) {
  Script script;
  script.live(1, kBig).free(1).begin("a").alloc(2, kBig).end("a");
  EXPECT_EQ(plan_of(script, "another op").entries[0].arena, kHeap);
  Script sizes;
  sizes.live(1, 2 * kBig).free(1).begin("a").alloc(2, kBig).end("a");
  EXPECT_EQ(plan_of(sizes, "a").entries[0].arena, kHeap);
  EXPECT_TRUE(plan_of(sizes, "a").arenas.empty());
}

TEST(MakePlan, TwoGenerationsAtOnceHaveNoSlot) {
  Script script;  // out = model(x): the former output lives until the name is bound anew
  script.live(1, kBig).begin("a").alloc(2, kBig).end("a").free(1);
  const Plan plan = plan_of(script, "a");
  EXPECT_EQ(plan.entries[0].arena, kHeap);
  EXPECT_TRUE(validate(plan));
}

TEST(MakePlan, WeightsAreNoEntries) {
  Script script;
  script.live(1, kBig).alloc(2, kBig).free(2);
  EXPECT_EQ(plan_of(script).entries.size(), 1u);
}

// Two classes whose peaks differ in time: apart they cost their sum.
Script two_classes() {
  Script script;
  script.live(1, 8 * kBig).free(1);
  script.begin("a").alloc(2, 8 * kBig).free(2).end("a").begin("b").alloc(3, 8 * kBig).end("b");
  return script;
}

TEST(MakePlan, ClassesShareAnArenaWhereSeparationIsDear) {
  const Plan plan = plan_of(two_classes(), "b");
  ASSERT_EQ(plan.arenas.size(), 1u);
  EXPECT_TRUE(plan.arenas[0].mixed);
  EXPECT_EQ(plan.arenas[0].bytes, 8 * kBig);
  EXPECT_EQ(plan.costs.separation, 8 * kBig);
}

TEST(MakePlan, SeparationCanBeForced) {
  const Plan plan = plan_of(two_classes(), "b", {.separate = true});
  ASSERT_EQ(plan.arenas.size(), 2u);
  EXPECT_FALSE(plan.arenas[0].mixed);
  EXPECT_EQ(plan.arenas[0].lifetime, profile::Lifetime::short_lived);
  EXPECT_EQ(plan.arenas[1].lifetime, profile::Lifetime::persistent);
  EXPECT_EQ(plan.costs.separation, 8 * kBig);
  EXPECT_EQ(plan.costs.lower_bound, 8 * kBig);
}

TEST(MakePlan, ClassesAreApartWhereThatCostsNothing) {
  Script script;
  script.live(1, kBig);
  script.begin("b").alloc(2, kBig).end("b").begin("a").alloc(3, kBig).free(3).end("a");
  script.free(1);
  Profile profile = profile_of(script, "b");
  profile.tensors[0].dies_order = 1;  // free at once, so that its successor has a slot
  profile.tensors[1].born_order = 2;
  profile.tensors[2].born_order = 3;
  profile.tensors[2].dies_order = 4;
  const Result<Plan> plan = make_plan(profile);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->arenas.size(), 2u);
  EXPECT_EQ(plan->costs.separation, 0u);
}

TEST(MakePlan, NoPlanIsMadeFromHalfAProfile) {
  Profile profile;
  profile.anomalies.dropped_events = 7;
  const Result<Plan> plan = make_plan(profile);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error(), testing::HasSubstr("7 events did not fit"));
}

TEST(MakePlan, SizesBeyondMemoryAreRefused) {
  Script script;
  script.alloc(1, 0 - 1ull).alloc(2, 0 - 1ull).free(1).free(2);
  const Result<Plan> plan = make_plan(profile_of(script));
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error(), testing::HasSubstr("damaged"));
}

// Any sequence of events gives a plan that holds, in one arena, in several and grouped.
TEST(MakePlan, RandomIterationsGivePlansThatHold) {
  test::Random random(31);
  for (int round = 0; round < 600; ++round) {
    Script script;
    std::vector<std::uint32_t> alive;
    std::uint32_t serial = 0;
    const auto size = [&] { return 16384ull << test::below(random, 4); };
    for (; serial < 8; alive.push_back(serial)) script.live(++serial, size());
    for (int step = 0; step < 120; ++step) {
      script.on(test::below(random, 10) == 0 ? 1 : 0).begin("a");
      if (alive.empty() || test::below(random, 2) == 0) {
        script.alloc(++serial, size());
        alive.push_back(serial);
      } else {
        std::swap(alive[test::below(random, static_cast<std::uint32_t>(alive.size()))], alive.back());
        script.free(alive.back());
        alive.pop_back();
      }
      script.end("a");
    }
    PlanOptions options{.separate = round % 3 == 1, .group = round % 3 == 2};
    options.pack.attempts = 50;
    const Plan plan = plan_of(script, "a", options);
    const Result<void> sound = validate(plan);
    ASSERT_TRUE(sound) << "round " << round << ": " << sound.error();
    ASSERT_TRUE(std::any_of(plan.entries.begin(), plan.entries.end(), [](const Entry& e) { return e.arena != kHeap; }));
  }
}

}  // namespace
}  // namespace hearth::plan
