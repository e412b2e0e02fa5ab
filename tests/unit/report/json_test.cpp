// The JSON report: complete, valid, the same in both forms, and what its numbers mean.
#include "report/json.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "unit/report/example.h"

namespace hearth::report {
namespace {

using nlohmann::json;

json report_of(const RunFacts& facts, const profile::Profile* profile, const Limits& limits = {}) {
  std::string text;
  write_json(text, facts, profile, limits);
  return json::parse(text);
}

class JsonReport : public testing::Test {
 protected:
  RunFacts facts = test::example_facts();
  profile::Profile profile = test::golden_profile();
};

TEST_F(JsonReport, HoldsTheRun) {
  const json report = report_of(facts, &profile);
  EXPECT_EQ(report.at("schema_version"), 1);
  EXPECT_EQ(report.at("generator").at("name"), "hearth");
  EXPECT_EQ(report.at("process").at("pid"), 4711);
  EXPECT_EQ(report.at("process").at("rank"), "3");
  EXPECT_EQ(report.at("process").at("command"), "python train.py --name \"caf\uFFFD\"");
  EXPECT_EQ(report.at("options").at(1).at("origin"), "environment");
  EXPECT_EQ(report.at("tiers").size(), 1u);
  EXPECT_EQ(report.at("state"), "observe");
  EXPECT_EQ(report.at("iterations").at("signatures").at(0).at("ops_hash"), "0x0000000000abcdef");
  EXPECT_EQ(report.at("profiled_iteration").at("slowdown"), 1.5);
  EXPECT_EQ(report.at("profiled_iteration").at("fault_round_trip_ns"), 45'000);
  EXPECT_EQ(report.at("counters").at("frees"), 12000);
  EXPECT_EQ(report.at("guard").at("faults"), 77);
  EXPECT_EQ(report.at("degradations").at(0).at("cause"), "perf_event_open: EACCES");
}

TEST_F(JsonReport, TellsWhatWasTriedInRealSteps) {
  EXPECT_EQ(report_of(facts, &profile).at("trials"),
            json({{"autotm", "off"}, {"converged_at", 0}, {"measured", json::array()}}));
  TrialFacts& trials = facts.live.trials;
  trials.rows[0] = {TrialFacts::What::planned, 9, 7, false};
  trials.rows[1] = {TrialFacts::What::no_plan, 8, 0, true};
  trials.count = 2;
  trials.converged_at = 33;
  const json told = report_of(facts, &profile).at("trials");
  EXPECT_EQ(told.at("converged_at"), 33);
  const json planned = {{"plan", "as profiled"}, {"step_ns", 9}, {"foreseen_ns", 7}, {"kept", false}};
  const json without = {{"plan", "no plan"}, {"step_ns", 8}, {"foreseen_ns", 0}, {"kept", true}};
  EXPECT_EQ(told.at("measured"), json::array({planned, without}));
}

TEST_F(JsonReport, HoldsWhatTheTiersCost) {
  TierFacts& tiers = facts.live.tiers;
  tiers.present = true;
  tiers.backend = "emulated";
  tiers.how = "";
  tiers.policy = "first-touch";
  tiers.steady = {7, 70, 1000, 20, 30, 40, 50, 60, 70, 80, 90, 4, 3};
  json of = report_of(facts, &profile).at("tiers");
  EXPECT_FALSE(of.contains("lists"));
  EXPECT_FALSE(of.contains("foreseen"));
  EXPECT_EQ(of.at("steady"), json({{"iterations", 7},
                                   {"duration_ns", 70},
                                   {"fast_average_bytes", 1000},
                                   {"to_fast_bytes", 20},
                                   {"to_slow_bytes", 30},
                                   {"waited_ns", 40},
                                   {"charged_ns", 50},
                                   {"slow_bytes_used", 60},
                                   {"moves", 70},
                                   {"late", 80},
                                   {"late_ns", 90},
                                   {"waits_tried", 4},
                                   {"waits_worth", 3}}));
  tiers.by_access = true;
  tiers.lists = {1, 2, 3, 4, 5, 6, 7, 8};
  tiers.foreseen = {true, 11, 12, 13, 14, 15, 16};
  of = report_of(facts, &profile).at("tiers");
  EXPECT_EQ(of.at("lists"), json({{"active_bytes", 1},
                                  {"inactive_bytes", 2},
                                  {"accesses", 3},
                                  {"activated", 4},
                                  {"deactivated", 5},
                                  {"promotions", 6},
                                  {"demotions", 7},
                                  {"held_back", 8}}));
  EXPECT_EQ(of.at("foreseen"), json({{"step_ns", 11},
                                     {"all_fast_ns", 12},
                                     {"all_slow_ns", 13},
                                     {"stall_ns", 14},
                                     {"fast_peak_bytes", 15},
                                     {"fast_average_bytes", 16}}));
  EXPECT_FALSE(of.contains("account"));
}

TEST_F(JsonReport, HoldsWhyTensorsLieWhereTheyDo) {
  plan::Residency residency;
  residency.policy = "sentinel";
  residency.ops = 9;
  residency.stretches = {{}, {.of = plan::Stretch::Of::resident, .bytes = 8192}};
  residency.moves = {{.stretch = 1, .to = tier::Tier::slow, .at = 2, .due = 5, .ns = 77, .wait = true}};
  plan::ClassAccount of_class;
  of_class.stake = {.bytes = 8192,
                    .gain_ns = 5,
                    .possible_ns = 6,
                    .moved_bytes = 7,
                    .lane_ns = 8,
                    .fast_average = 9,
                    .fast_most = 0,
                    .windows = {}};
  of_class.bytes_by_reason[static_cast<std::size_t>(plan::Reason::moves)] = 8192;
  plan::TensorAccount tensor;
  tensor.stake.windows = {{0, 2}, {6, 9}};
  tensor.op = "a\"b";
  tensor.reason = plan::Reason::moves;
  residency.account = {{of_class}, {tensor}, {{.op = 3, .ns = 4, .fast = {1, 2, 3, 4}}}};
  Punctuality went;
  went.asked = 10;
  went.late = 4;
  went.late_ns = 400;
  went.latest_ns = 250;
  TierFacts& tiers = facts.live.tiers;
  tiers.present = true;
  tiers.residency = &residency;
  tiers.moves = &went;
  const json of = report_of(facts, &profile).at("tiers").at("account");
  const auto cell = [&](const char* table, const char* name) {
    const json& columns = of.at(table).at("columns");
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] == name) return of.at(table).at("rows").at(0).at(i);
    }
    return json("no such column");
  };
  for (const char* table : {"classes", "tensors", "timeline", "moves"}) {
    EXPECT_EQ(of.at(table).at("rows").at(0).size(), of.at(table).at("columns").size()) << table;
  }
  EXPECT_EQ(of.at("ops"), 9);
  EXPECT_EQ(cell("classes", "fast_average_bytes"), 9);
  EXPECT_EQ(cell("classes", "moves"), 8192);
  EXPECT_EQ(cell("classes", "stays"), 0);
  EXPECT_EQ(cell("tensors", "made_by"), "a\"b");
  EXPECT_EQ(cell("tensors", "reason"), "moves");
  EXPECT_EQ(cell("tensors", "windows"), json({{0, 2}, {6, 9}}));
  EXPECT_EQ(cell("timeline", "persistent"), 4);
  EXPECT_EQ(cell("moves", "bytes"), 8192);
  EXPECT_EQ(cell("moves", "to"), "slow");
  EXPECT_EQ(cell("moves", "late_ns"), 400);
  EXPECT_EQ(of.at("moves").at("omitted"), 0);
}

TEST_F(JsonReport, HoldsTheProfile) {
  const json report = report_of(facts, &profile);
  const json& of = report.at("profile");
  EXPECT_EQ(of.at("peak_op"), 7);
  EXPECT_EQ(of.at("attribution").at("in_ops_bytes"), 6912);
  EXPECT_EQ(of.at("attribution").at("total_bytes"), 6976);
  EXPECT_EQ(of.at("ops").at("rows").size(), 10u);
  EXPECT_EQ(of.at("tensors").at("rows").size(), 8u);
  for (const char* table : {"ops", "tensors", "timeline"}) {
    for (const json& row : of.at(table).at("rows")) EXPECT_EQ(row.size(), of.at(table).at("columns").size()) << table;
  }
  const json& weight = of.at("tensors").at("rows").at(0);
  EXPECT_EQ(weight.at(2), "persistent");
  EXPECT_EQ(weight.at(4), -1) << "born before";
  EXPECT_EQ(weight.at(6), -2) << "dies after";
  EXPECT_EQ(weight.back().size(), 3u);
  EXPECT_EQ(weight.back().at(0).size(), of.at("tensors").at("access_columns").size());
  EXPECT_EQ(of.at("agreement").at("innermost").at("raw_precision"), 0.9);
  EXPECT_EQ(of.at("agreement").at("disagreements").at(0).at("reason"), "scratch");
  std::uint64_t classed = 0;
  for (const json& each : of.at("classes")) classed += each.at("tensors").get<std::uint64_t>();
  EXPECT_EQ(classed, 8u);
}

TEST_F(JsonReport, CountsWhatWasNotSeen) {
  const json not_seen = report_of(facts, &profile).at("not_seen");
  EXPECT_EQ(not_seen.at(0).at("tensors"), 1) << "serial 8, below HEARTH_MIN_SIZE and not in Hearth's heap";
  EXPECT_EQ(not_seen.at(0).at("bytes"), 64);
  EXPECT_EQ(not_seen.at(1).at("tensors"), 0);
  EXPECT_TRUE(not_seen.at(3).at("tensors").is_null()) << "nobody knows how many numpy arrays there are";
}

TEST_F(JsonReport, IsValidBeforeThereIsAnything) {
  const json report = report_of(RunFacts{}, nullptr);
  EXPECT_TRUE(report.at("profile").is_null());
  EXPECT_TRUE(report.at("profiled_iteration").is_null());
  EXPECT_EQ(report.at("state"), "bootstrap");
  EXPECT_EQ(report.at("counters").at("hook_self_test"), "");
  const profile::Profile empty = profile::build({}, {});
  EXPECT_EQ(report_of(facts, &empty).at("profile").at("tensors").at("rows").size(), 0u);
}

TEST_F(JsonReport, LeavesOutTheSmallestTensorsAndSaysSo) {
  const json of = report_of(facts, &profile, {.tensors = 2, .ops = 3}).at("profile");
  const json& rows = of.at("tensors").at("rows");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows.at(1).at(1), 8192) << "the largest is among them";
  EXPECT_EQ(of.at("tensors").at("omitted").at("tensors"), 6);
  EXPECT_EQ(of.at("ops").at("rows").size(), 3u);
  EXPECT_EQ(of.at("ops").at("omitted"), 7);
}

TEST_F(JsonReport, BothFormsAreTheSameDocument) {
  std::string at_once;
  write_json(at_once, facts, &profile);
  const Prepared prepared = prepare(facts, &profile);
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(write_prepared(fileno(file), prepared, facts.live), 0);
  std::string in_two(at_once.size() + 100, '\0');
  in_two.resize(static_cast<std::size_t>(pread(fileno(file), in_two.data(), in_two.size(), 0)));
  std::fclose(file);
  EXPECT_EQ(in_two, at_once);
}

TEST_F(JsonReport, ReportsThatTheDiskIsFull) {
  const int full = open("/dev/full", 1);
  ASSERT_GE(full, 0);
  EXPECT_EQ(write_prepared(full, prepare(facts, nullptr), facts.live), ENOSPC);
  EXPECT_EQ(write_prepared(full, Prepared{}, facts.live), ENOSPC) << "in the tail as well";
  close(full);
}

}  // namespace
}  // namespace hearth::report
