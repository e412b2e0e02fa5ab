// validate(): a sound plan passes, and every way to break one is refused in a sentence that names it.
#include "plan/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "unit/plan/instances.h"

namespace hearth::plan {
namespace {

// Two that follow each other in one slot, one that lives around the ring above them, one on the heap.
Plan sound() {
  Plan plan;
  plan.min_bytes = 64;
  plan.period = 10;
  plan.entries = {{.bytes = 100, .op = 3, .nth = 0, .arena = 0, .offset = 0, .birth = 1, .death = 4},
                  {.bytes = 128, .op = 3, .nth = 2, .arena = 0, .offset = 0, .birth = 5, .death = 8},
                  {.bytes = 64, .op = 4, .nth = 0, .arena = kHeap, .offset = 0, .birth = 6, .death = 6},
                  {.bytes = 64, .op = profile::kOutside, .nth = 0, .arena = 0, .offset = 128, .birth = 7, .death = 3}};
  plan.arenas = {{.bytes = 4096, .lower_bound = 192, .tensors = 3}};
  plan.costs.lower_bound = 192;
  plan.signature = signature_of(plan.entries);
  return plan;
}

std::string refusal(const std::function<void(Plan&)>& change) {
  Plan plan = sound();
  change(plan);
  const Result<void> result = validate(plan);
  return result ? "" : result.error();
}

// The same with a signature that fits, since nearly every change breaks it.
std::string entry_refusal(const std::function<void(Plan&)>& change) {
  return refusal([&](Plan& plan) {
    change(plan);
    plan.signature = signature_of(plan.entries);
  });
}

TEST(Validate, ASoundPlanPasses) {
  EXPECT_EQ(refusal([](Plan&) {}), "");
}

TEST(Validate, NothingPlannedPasses) { EXPECT_TRUE(validate(Plan())); }

TEST(Validate, OverlapsNameBothEntries) {
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[1].birth = 3; }),
            "entry 0 and entry 1 are alive at once and overlap in arena 0 at offset 0");
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[3].offset = 64; }),
            "entry 3 and entry 0 are alive at once and overlap in arena 0 at offset 0")
      << "at the begin, where the former iteration's entry 3 is alive";
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[3].offset = 64, plan.entries[3].death = 1; }),
            "entry 1 and entry 3 are alive at once and overlap in arena 0 at offset 64")
      << "at the end";
}

TEST(Validate, ADeathMakesRoomForABirthAtItsPlace) {
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[1].birth = 4; }), "");
}

TEST(Validate, ADeathAtTheRingsBeginIsOneAtItsEnd) {
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[3].death = 0; }), "");
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[3].death = 10; }), "");
}

TEST(Validate, Entries) {
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[0].bytes = 63; }), "entry 0 is smaller than min_bytes");
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[3].birth = 10; }),
            "entry 3 is born or dies outside the period of 10 places");
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[0].death = 11; }),
            "entry 0 is born or dies outside the period of 10 places");
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[2].birth = 5; }), "entry 2 is not born after entry 1");
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[2].offset = 64; }),
            "entry 2 is left to the heap and has an offset");
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[1].arena = 1; }), "entry 1 lies in arena 1, of 1");
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[1].death = 5; }), "entry 1 is planned and never dies");
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[1].offset = 32; }), "entry 1 has offset 32, no multiple of 64");
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[3].offset = 4096; }), "entry 3 ends beyond its arena 0");
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[3].offset = 0 - 64ull; }), "entry 3 ends beyond its arena 0");
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[1].nth = 0; }),
            "entry 1 is not numbered after entry 0 of the same op");
  EXPECT_EQ(entry_refusal([](Plan& plan) { plan.entries[0].bytes = plan.min_bytes = 0; }),
            "entry 0 is planned and has no bytes");
}

TEST(Validate, Books) {
  EXPECT_EQ(refusal([](Plan& plan) { plan.schema_version = 2; }), "schema version 2, expected 1");
  EXPECT_EQ(refusal([](Plan& plan) { ++plan.signature.allocations; }),
            "the signature counts 5 allocations, there are 4 entries");
  EXPECT_EQ(refusal([](Plan& plan) { ++plan.signature.digest; }),
            "the signature's digest is not that of the entries' sizes");
  EXPECT_EQ(refusal([](Plan& plan) { plan.arenas[0].bytes = 4000; }), "arena 0 is not made of whole pages");
  EXPECT_EQ(refusal([](Plan& plan) { plan.arenas[0].bytes = 1ull << 60; }),
            "arena 0 is larger than any machine's memory");
  EXPECT_EQ(refusal([](Plan& plan) { plan.arenas[0].tensors = 4; }), "arena 0 counts 4 tensors, 3 entries lie in it");
  EXPECT_EQ(refusal([](Plan& plan) { plan.arenas[0].lower_bound = 128; }),
            "arena 0 has lower bound 128, at most 192 bytes of its entries are alive at once");
  EXPECT_EQ(refusal([](Plan& plan) { plan.costs.lower_bound = 0; }),
            "the lower bound is 0, at most 192 bytes of all entries are alive at once");
  EXPECT_EQ(refusal([](Plan& plan) { plan.arenas.resize(5000); }), "5000 arenas are more than the 4096 there may be");
}

TEST(Signature, TellsOrderAndSizes) {
  const auto digest = [](std::initializer_list<std::uint64_t> sizes) {
    std::uint64_t folded = 0;
    for (const std::uint64_t size : sizes) folded = fold_size(folded, size);
    return folded;
  };
  EXPECT_NE(digest({1, 2}), digest({2, 1}));
  EXPECT_NE(digest({0}), digest({0, 0}));
  EXPECT_NE(digest({64, 64}), digest({128}));
}

}  // namespace
}  // namespace hearth::plan
