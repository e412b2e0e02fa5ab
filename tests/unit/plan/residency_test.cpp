// validate_residency(): each way in which a residency can be wrong is refused in a sentence that names it.
#include <gtest/gtest.h>

#include <functional>

#include "plan/validate_residency.h"

namespace hearth::plan {
namespace {

// Two arenas, the second slow; one resident, whose end is slow; a stretch that leaves and comes back.
Plan sound() {
  Plan plan;
  plan.entries.resize(10);
  plan.arenas = {{.bytes = 4 * kPage}, {.tier = Tier::slow, .bytes = 8 * kPage}};
  Residency& residency = plan.residency;
  residency.policy = "sentinel";
  residency.fast_capacity = 4 * kPage;
  residency.residents = {{.bytes = 2 * kPage + 100}};
  residency.stretches = {{.index = 0, .offset = 0, .bytes = 2 * kPage, .begin = Tier::fast},
                         {.index = 1, .offset = 0, .bytes = 8 * kPage, .begin = Tier::slow},
                         {.resident = true, .index = 0, .offset = kPage, .bytes = kPage + 100, .begin = Tier::slow}};
  residency.moves = {{.stretch = 0, .to = Tier::slow, .at = 2, .due = 4},
                     {.stretch = 0, .to = Tier::fast, .at = 6, .due = 8}};
  return plan;
}

std::string refusal(const std::function<void(Residency&)>& change) {
  Plan plan = sound();
  change(plan.residency);
  const Result<void> result = validate_residency(plan);
  return result ? "" : result.error();
}

TEST(ValidateResidency, ASoundOnePasses) {
  EXPECT_EQ(refusal([](Residency&) {}), "");
  EXPECT_EQ(refusal([](Residency& r) { r = {}; }), "");
}

TEST(ValidateResidency, StretchesLieWithinWhatIsThere) {
  EXPECT_NE(refusal([](Residency& r) { r.stretches[1].index = 2; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches[2].index = 1; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches[1].bytes += kPage; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches[1].bytes = ~std::uint64_t{0} / kPage * kPage; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches[0].offset = 100; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches[0].bytes = 100; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches[0].bytes = 0; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches[0].begin = Tier::none; }), "");
}

TEST(ValidateResidency, StretchesDoNotOverlap) {
  EXPECT_NE(refusal([](Residency& r) { r.stretches.push_back({.index = 0, .offset = kPage, .bytes = kPage}); }), "");
  EXPECT_EQ(refusal([](Residency& r) { r.stretches.push_back({.index = 0, .offset = 2 * kPage, .bytes = kPage}); }),
            "");
}

TEST(ValidateResidency, MovesComeInOrderAndLeadBack) {
  EXPECT_NE(refusal([](Residency& r) { std::swap(r.moves[0], r.moves[1]); }), "");
  EXPECT_NE(refusal([](Residency& r) { r.moves.pop_back(); }), "");
  EXPECT_NE(refusal([](Residency& r) { r.moves[0].stretch = 7; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.moves[0].to = Tier::fast; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.moves[0].due = 1; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.moves[1].due = 11; }), "");
}

TEST(ValidateResidency, TheCapacityHoldsAtEveryPlace) {
  EXPECT_NE(refusal([](Residency& r) { r.fast_capacity = 4 * kPage - 1; }), "");
  // The slow arena comes while the other stretch is still on its way out.
  const auto swap_in = [](std::uint32_t at) {
    return refusal([&](Residency& r) {
      r.stretches[1] = {.index = 1, .offset = 0, .bytes = 2 * kPage, .begin = Tier::slow};
      r.stretches.push_back({.index = 1, .offset = 2 * kPage, .bytes = 6 * kPage, .begin = Tier::slow});
      r.moves = {{.stretch = 0, .to = Tier::slow, .at = 2, .due = 4},
                 {.stretch = 1, .to = Tier::fast, .at = at, .due = 5},
                 {.stretch = 1, .to = Tier::slow, .at = 6, .due = 7},
                 {.stretch = 0, .to = Tier::fast, .at = 8, .due = 9}};
    });
  };
  EXPECT_NE(swap_in(3), "");
  EXPECT_EQ(swap_in(4), "");
}

}  // namespace
}  // namespace hearth::plan
