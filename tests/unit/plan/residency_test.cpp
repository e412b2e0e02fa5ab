// validate_residency(): each way in which a residency can be wrong is refused in a sentence that names it.
#include <gtest/gtest.h>

#include <functional>

#include "plan/validate_residency.h"

namespace hearth::plan {
namespace {

using Of = Stretch::Of;

// Three arenas: fast, slow, and one of tensors with own pages, of which entry 4 leaves and comes back in its life; one
// resident, whose end is slow but for a while.
Plan sound() {
  Plan plan;
  plan.entries.resize(10);
  plan.entries[4] = {.bytes = 3 * kPage + 10, .arena = 2, .offset = kPage, .birth = 4, .death = 9};
  plan.arenas = {
      {.bytes = 4 * kPage}, {.home = Home::slow, .bytes = 8 * kPage}, {.home = Home::own, .bytes = 5 * kPage}};
  Residency& residency = plan.residency;
  residency.policy = "sentinel";
  residency.fast_capacity = 4 * kPage;
  residency.ops = 20;
  residency.births = {0, 1, 2, 3, 4, 10, 10, 10, 10, 10};
  residency.residents = {{.bytes = 2 * kPage + 100}};
  residency.stretches = {{.index = 1, .offset = 0, .bytes = 8 * kPage, .begin = Tier::slow},
                         {.of = Of::entry, .index = 4, .offset = 0, .bytes = 2 * kPage, .begin = Tier::fast},
                         {.of = Of::entry, .index = 4, .offset = 2 * kPage, .bytes = kPage + 10, .begin = Tier::slow},
                         {.of = Of::resident, .index = 0, .offset = kPage, .bytes = kPage + 100, .begin = Tier::slow}};
  residency.moves = {{.stretch = 3, .to = Tier::fast, .at = 2, .due = 4},
                     {.stretch = 1, .to = Tier::slow, .at = 6, .due = 8},
                     {.stretch = 3, .to = Tier::slow, .at = 9, .due = 20},
                     {.stretch = 1, .to = Tier::fast, .at = 11, .due = 12}};
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
  EXPECT_NE(refusal([](Residency& r) { r.stretches[0].index = 3; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches[1].index = 10; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches[3].index = 1; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches[0].bytes += kPage; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches[0].bytes = ~std::uint64_t{0} / kPage * kPage; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches[0].offset = 100; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches[1].bytes = 100; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches[2].bytes += 1; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches[0].bytes = 0; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches[0].begin = Tier::none; }), "");
}

TEST(ValidateResidency, OnlyEntriesWithOwnPagesHaveStretchesOfTheirOwn) {
  EXPECT_NE(refusal([](Residency& r) { r.stretches[1].index = 3; }), "");  // lies on the heap
  Plan plan = sound();
  plan.entries[4].arena = 0;
  EXPECT_FALSE(validate_residency(plan));
  plan = sound();
  plan.entries[4].offset += 64;
  EXPECT_FALSE(validate_residency(plan));
}

TEST(ValidateResidency, StretchesDoNotOverlap) {
  EXPECT_NE(refusal([](Residency& r) { r.stretches[2].offset = kPage; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.stretches.push_back({.index = 1, .offset = kPage, .bytes = kPage}); }), "");
  EXPECT_EQ(refusal([](Residency& r) { r.stretches.push_back({.index = 0, .offset = kPage, .bytes = kPage}); }), "");
}

TEST(ValidateResidency, MovesComeInOrderAndLeadBack) {
  EXPECT_NE(refusal([](Residency& r) { std::swap(r.moves[0], r.moves[1]); }), "");
  EXPECT_NE(refusal([](Residency& r) { r.moves.erase(r.moves.begin() + 2); }), "");
  EXPECT_NE(refusal([](Residency& r) { r.moves[0].stretch = 7; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.moves[0].to = Tier::slow; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.moves[0].due = 1; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.moves[3].due = 21; }), "");
  EXPECT_NE(refusal([](Residency& r) { r.births.clear(); }), "");
  EXPECT_NE(refusal([](Residency& r) { r.births.pop_back(); }), "");
  EXPECT_NE(refusal([](Residency& r) { std::swap(r.births[0], r.births[5]); }), "");
}

// A tensor begins anew with each birth, so that its last move need not lead back to where it was born.
TEST(ValidateResidency, MovesOfAnEntryBeginWithItsBirth) {
  EXPECT_EQ(refusal([](Residency& r) { r.moves.pop_back(); }), "");
  // Alive across the end of the iteration: the moves before its birth come after the others.
  EXPECT_EQ(refusal([](Residency& r) { r.births[4] = 10; }), "move 3 of its residency goes where its stretch is");
  EXPECT_EQ(refusal([](Residency& r) {
              r.births[4] = 10;
              r.moves[1].to = Tier::fast;
              r.moves[3].to = Tier::slow;
            }),
            "");
}

TEST(ValidateResidency, TheFastArenasFit) {
  EXPECT_NE(refusal([](Residency& r) { r.fast_capacity = 4 * kPage - 1; }), "");
  EXPECT_EQ(refusal([](Residency& r) {
              r.fast_capacity = 3 * kPage;
              r.stretches.push_back({.index = 0, .offset = 0, .bytes = kPage, .begin = Tier::slow});
            }),
            "");
}

}  // namespace
}  // namespace hearth::plan
