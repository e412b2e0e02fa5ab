// elastic(): slots for tensors whose sizes wander.
#include "plan/elastic.h"

#include <gtest/gtest.h>

#include "plan/make_plan.h"
#include "plan/plan.h"
#include "plan/validate.h"
#include "unit/profile/events.h"

namespace hearth::plan {
namespace {

using profile::Profile;
using profile::test::Script;

constexpr std::uint64_t kBig = 1 << 20;

Profile profile_of(const Script& script) {
  std::vector<hearth_event> events = script.events();
  for (hearth_event& event : events) {
    const bool tensor = event.type == HEARTH_EVENT_LIVE || event.type == HEARTH_EVENT_ALLOC;
    if (tensor) event.flags = HEARTH_EVENT_FLAG_OWN_PAGES;
  }
  return profile::build(events, script.names());
}

TEST(Elastic, SlotsHaveASixteenthMoreAndLittleElse) {
  for (std::uint64_t bytes = 16384; bytes < (1 << 24); bytes += 12347) {
    const std::uint64_t slot = elastic_bytes(bytes);
    EXPECT_GE(slot, bytes + bytes / 16) << bytes;
    EXPECT_LE(slot, (bytes + bytes / 16) * 9 / 8 + 64) << bytes;
    EXPECT_LE(slot - bytes, slot >> kElasticShift) << "its own tensor must fit: " << bytes;
    EXPECT_EQ(slot % kAlignment, 0u) << bytes;
  }
}

// A gradient and the one that it takes the place of are not quite alike in size, and share a slot all the same.
TEST(Elastic, CounterpartsMostlyGetTheSame) {
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t bytes = kBig + static_cast<std::uint64_t>(i) * 4321;
    same += elastic_bytes(bytes) == elastic_bytes(bytes + bytes / 100) ? 1 : 0;
  }
  EXPECT_GT(same, 800);
}

TEST(Elastic, WhatLivesThroughKeepsItsSize) {
  Script script;
  script.live(1, kBig).live(2, kBig).begin("a").alloc(3, kBig).alloc(4, 100).free(2).free(3).free(4).end("a");
  const Profile before = profile_of(script);
  const Profile after = elastic(before, 16384);
  ASSERT_EQ(after.tensors.size(), before.tensors.size());
  for (std::size_t i = 0; i < after.tensors.size(); ++i) {
    const std::uint64_t bytes = before.tensors[i].bytes;
    const bool wanders = bytes == kBig && before.tensors[i].serial != 1;
    EXPECT_EQ(after.tensors[i].bytes, wanders ? elastic_bytes(bytes) : bytes) << before.tensors[i].serial;
  }
  const Result<Plan> plan = make_plan(after);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(validate(*plan));
}

}  // namespace
}  // namespace hearth::plan
