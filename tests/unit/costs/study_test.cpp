#include "costs/study.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "costs/cost_file.h"
#include "costs/summary.h"
#include "simulate/simulate.h"

namespace hearth::costs {
namespace {

tier::Machine machine() {
  tier::Machine m;
  std::snprintf(m.name, sizeof m.name, "made-up");
  m.fast = {.read = 10e9, .write = 10e9};
  m.slow = {.read = 1e9, .write = 0.5e9};
  return m;
}

// Two layers alike, one after the other: each reads its weight and the activation before it, and writes one.
struct Training {
  profile::Profile profile;
  simulate::Workload workload;

  Training() {
    profile.names = {"", "aten::mm", "step"};
    const std::uint64_t bytes = 1 << 20;
    for (std::uint32_t op = 0; op < 3; ++op) {
      profile::Op it;
      it.name = op == 2 ? 2 : 1;
      it.end_ns = op + 1;
      profile.ops.push_back(it);
      workload.ops.push_back({.self_ns = 1e5, .first_use = op * 3, .uses = op == 2 ? 0u : 3u, .of = op});
    }
    for (std::uint32_t i = 0; i < 5; ++i) {  // two weights, three activations
      workload.objects.emplace_back();
      workload.objects.back().bytes = bytes;
      workload.objects.back().tensor = i;
      workload.objects.back().resident = i < 2;
      workload.objects.back().planned = i >= 2;
      profile.tensors.emplace_back();
      profile.tensors.back().bytes = bytes;
    }
    const auto size = static_cast<double>(bytes);
    workload.uses = {{0, size / 2, 0}, {2, size, 0}, {3, 0, size}, {1, size / 2, 0}, {3, size, 0}, {4, 0, size}};
  }

  profile::Profile timed(std::uint64_t ns) const {
    profile::Profile made = profile;
    for (profile::Op& op : made.ops) op.self_ns = ns;
    return made;
  }
};

TEST(Study, LayersAlikeAreOneKind) {
  const Training it;
  const Study study(it.profile, it.workload, machine());
  ASSERT_EQ(study.ops().size(), 2u);  // the step has no operand
  ASSERT_EQ(study.alike().size(), 1u);
  EXPECT_EQ(study.alike()[0].ops, (std::vector<std::size_t>{0, 1}));
  // What is written to slow memory takes most.
  EXPECT_EQ(study.ops()[0].objects, (std::vector<std::uint32_t>{3, 2, 0}));
  EXPECT_EQ(study.ops()[1].objects, (std::vector<std::uint32_t>{4, 3, 1}));
}

TEST(Study, TakesTimesByWhereThingsLay) {
  const Training it;
  const Study study(it.profile, it.workload, machine());
  CostTable table;
  EXPECT_TRUE(study.take(it.timed(500), {false, false, false, true, false}, table));
  const OpKey& key = study.alike()[0].key;
  EXPECT_EQ(table.ns(key, 1), 500);  // the first layer's output is the second one's input
  EXPECT_EQ(table.ns(key, 2), 500);
  EXPECT_EQ(table.placements(), 2u);
  profile::Profile other = it.timed(500);
  other.names[2] = "another";
  EXPECT_FALSE(study.take(other, {false, false, false, true, false}, table));
  other.ops.pop_back();
  EXPECT_FALSE(study.take(other, {false, false, false, true, false}, table));
}

// Rounds are asked for until the table is complete, and then none.
CostTable measured(const Training& it, double own_ns) {
  const Study study(it.profile, it.workload, machine());
  CostTable table;
  for (std::vector<Round> rounds = study.rounds(table); !rounds.empty(); rounds = study.rounds(table)) {
    profile::Profile timed = it.profile;
    std::vector<float> slow;
    for (const bool lies : rounds[0]) slow.push_back(lies ? 1.0F : 0.0F);
    for (std::size_t op = 0; op < 3; ++op) {
      simulate::Op alone = it.workload.ops[op];
      alone.self_ns = own_ns;
      timed.ops[op].self_ns = static_cast<std::uint64_t>(simulate::op_ns(it.workload, machine(), alone, slow));
    }
    EXPECT_TRUE(study.take(timed, rounds[0], table));
  }
  return table;
}

TEST(Study, WhatWasMeasuredIsWhatTheSimulatorTakes) {
  for (const double own : {1e4, 1.5e6}) {
    Training it;
    const CostTable table = measured(it, own);
    const Summary summary = summarize(Study(it.profile, it.workload, machine()), table, it.workload, machine());
    EXPECT_EQ(summary.missing, 0u);
    EXPECT_EQ(summary.exact, own > 1e5 ? 1u : 0u);  // computes as long as one operand takes: the extras do not add up
    simulate::Workload plain = it.workload;
    for (simulate::Op& op : plain.ops) op.self_ns = own;
    const Applied applied = apply(it.profile, machine(), table, Use::measured, it.workload);
    EXPECT_EQ(applied.additive + applied.exact, 2u);
    EXPECT_EQ(applied.small, 1u);
    for (std::uint32_t bits = 0; bits < 32; ++bits) {
      std::vector<float> slow;
      for (std::uint32_t i = 0; i < 5; ++i) slow.push_back((bits >> i & 1) != 0 ? 1.0F : 0.0F);
      for (std::size_t op = 0; op < 2; ++op) {
        EXPECT_NEAR(simulate::op_ns(it.workload, machine(), it.workload.ops[op], slow),
                    simulate::op_ns(plain, machine(), plain.ops[op], slow), 3)
            << bits;
      }
    }
  }
}

TEST(Study, LessOfItToCompareWith) {
  const CostTable table = measured(Training(), 1.5e6);
  Training additive, roofline;
  EXPECT_EQ(apply(additive.profile, machine(), table, Use::additive, additive.workload).additive, 2u);
  EXPECT_TRUE(additive.workload.costs[0].table.empty());
  EXPECT_EQ(apply(roofline.profile, machine(), table, Use::roofline, roofline.workload).own, 2u);
  EXPECT_TRUE(roofline.workload.costs.empty());
  EXPECT_EQ(roofline.workload.ops[0].self_ns, 1.5e6);
}

TEST(Study, WhatIsNotMeasuredIsLeftToTheRoofline) {
  Training it;
  const Applied applied = apply(it.profile, machine(), {}, Use::measured, it.workload);
  EXPECT_EQ(applied.unmeasured, 2u);
  EXPECT_TRUE(it.workload.costs.empty());
}

TEST(OpCost, OfWhatIsSlowInPart) {
  const simulate::OpCost additive{{0, 2}, 10, {4, 6}, {}};
  const std::vector<float> slow = {0.5F, 1.0F, 0.25F};
  EXPECT_DOUBLE_EQ(additive.ns(slow), 10 + 2 + 1.5);
  const simulate::OpCost exact{{0, 2}, 10, {0, 0}, {10, 10, 10, 50}};
  EXPECT_DOUBLE_EQ(exact.ns(slow), 10 + 40 * 0.125);
  EXPECT_DOUBLE_EQ(exact.all_slow_ns(), 50);
  EXPECT_DOUBLE_EQ(additive.all_slow_ns(), 20);
}

class File : public testing::Test {
 protected:
  std::string path_ = testing::TempDir() + "op-costs-" + std::to_string(getpid()) + ".json";
  void TearDown() override { std::remove(path_.c_str()); }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  std::string error() const {
    const Result<CostFile> read = read_costs(path_);
    return read ? "" : read.error();
  }
};

TEST_F(File, ComesBackAsItWas) {
  CostFile costs{machine(), true, measured(Training(), 1.5e6)};
  ASSERT_TRUE(write_costs(costs, path_));
  const Result<CostFile> read = read_costs(path_);
  ASSERT_TRUE(read) << read.error();
  EXPECT_TRUE(read->emulated);
  EXPECT_EQ(foreign(*read, machine()), "");
  ASSERT_EQ(read->table.ops().size(), costs.table.ops().size());
  for (const auto& [key, placements] : costs.table.ops()) {
    for (const auto& [mask, once] : placements) {
      EXPECT_EQ(read->table.ns(key, mask), once.ns());
      EXPECT_EQ(read->table.ops().at(key).at(mask).count(), once.count());
    }
  }
}

TEST_F(File, ErrorsNameTheCure) {
  EXPECT_NE(error().find("hearth profile-ops"), std::string::npos) << error();
  write("{\"schema_version\": 1, \"arenas\": []}");
  EXPECT_NE(error().find("no file of op costs"), std::string::npos) << error();
  write("{ not JSON");
  EXPECT_NE(error().find("damaged"), std::string::npos) << error();
  write("{\"what\": \"hearth op costs\", \"schema_version\": 9}");
  EXPECT_NE(error().find("schema version 9"), std::string::npos) << error();
  const std::string head =
      "{\"what\": \"hearth op costs\", \"schema_version\": 1, \"machine\": {\"name\": \"x\", "
      "\"emulated\": true, \"fast\": {\"read\": 1, \"write\": 1}, \"slow\": {\"read\": 1, "
      "\"write\": 1}}, \"ops\": [{\"op\": \"a\", \"other_bytes\": 0, ";
  write(head + "\"operands\": [[1, 0]], \"ns\": {\"fs\": [1, 1]}}]}");
  EXPECT_NE(error().find("placement"), std::string::npos) << error();
  write(head + "\"operands\": [], \"ns\": {}}]}");
  EXPECT_NE(error().find("0 operands"), std::string::npos) << error();
}

TEST_F(File, AnotherMachineIsForeign) {
  CostFile costs{machine(), true, {}};
  tier::Machine other = machine();
  other.slow.write *= 1.02;  // probed again
  EXPECT_EQ(foreign(costs, other), "");
  other.slow.write *= 2;
  EXPECT_NE(foreign(costs, other).find("measured on made-up"), std::string::npos);
}

}  // namespace
}  // namespace hearth::costs
