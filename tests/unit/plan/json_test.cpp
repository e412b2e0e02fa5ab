// A plan written and read is the same plan; what is no plan is refused with place and cure, whatever it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "plan/json_reader.h"
#include "plan/json_writer.h"
#include "plan/validate.h"
#include "unit/plan/instances.h"

namespace hearth::plan {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A training step's plan, with an entry on the heap and one outside any op.
Plan sample(std::uint32_t layers = 4) {
  test::Random random(41);
  const test::Step step = test::training_step(random, layers);
  const Packing packing = test::packed(step.items, step.period);
  Plan plan;
  plan.period = step.period;
  plan.min_bytes = 1;
  plan.elastic = true;
  for (std::size_t i = 0; i < step.items.size(); ++i) {
    const Item& item = step.items[i];
    plan.entries.push_back({.bytes = item.bytes,
                            .op = static_cast<std::uint32_t>(i),
                            .nth = 3,
                            .arena = 0,
                            .offset = packing.offsets[i],
                            .birth = item.birth,
                            .death = item.death});
  }
  std::sort(plan.entries.begin(), plan.entries.end(), [](auto& a, auto& b) { return a.birth < b.birth; });
  plan.entries.front().op = profile::kOutside;
  plan.arenas = {{.bytes = whole_pages(packing.height),
                  .lower_bound = packing.lower_bound,
                  .tensors = static_cast<std::uint32_t>(plan.entries.size())}};
  plan.entries.push_back({.bytes = 64, .op = 99999, .birth = plan.period - 1, .death = plan.period - 1});
  plan.costs = {.lower_bound = packing.lower_bound, .separation = 5, .grouping = 6};
  plan.signature = signature_of(plan.entries);
  return plan;
}

std::string error_of(const std::string& text) {
  const Result<Plan> plan = parse_plan(text, "p.json");
  return plan ? "" : plan.error();
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(PlanJson, WhatIsWrittenIsRead) {
  Plan plan = sample();
  for (const bool mixed : {true, false}) {
    plan.arenas[0].mixed = mixed;
    plan.arenas[0].lifetime = profile::Lifetime::short_lived;
    plan.arenas[0].frequency = mixed ? 0 : 3;
    const Result<Plan> read = parse_plan(to_json(plan), "p.json");
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(to_json(*read), to_json(plan));
    EXPECT_EQ(read->signature, plan.signature);
    EXPECT_EQ(read->entries.back().arena, kHeap);
    EXPECT_EQ(read->entries.front().op, profile::kOutside);
    EXPECT_EQ(read->arenas[0].mixed, mixed);
    EXPECT_EQ(read->costs.grouping, 6u);
  }
}

Plan tiered() {
  Plan plan = sample();
  plan.arenas[0].home = Home::slow;
  Residency& residency = plan.residency;
  residency.policy = "sentinel";
  residency.machine = "optane-100";
  residency.fast_capacity = 1 << 20;
  residency.ops = 7;
  residency.births.assign(plan.entries.size(), 3);
  residency.residents = {{.bytes = 70000, .nth = 2}};
  residency.stretches = {{.bytes = plan.arenas[0].bytes, .begin = Tier::slow},
                         {.of = Stretch::Of::resident, .offset = kPage, .bytes = 70000 - kPage, .begin = Tier::fast}};
  residency.moves = {{.stretch = 1, .to = Tier::slow, .at = 1, .due = 2, .ns = 5000, .wait = true},
                     {.stretch = 1, .to = Tier::fast, .at = 3, .due = 3}};
  residency.prediction = {
      .step_ns = 1, .all_fast_ns = 2, .all_slow_ns = 3, .stall_ns = 4, .fast_peak = 5, .fast_average = 6};
  ClassAccount of_class;
  of_class.stake = {.bytes = 1,
                    .gain_ns = 2,
                    .possible_ns = 3,
                    .moved_bytes = 4,
                    .lane_ns = 5,
                    .fast_average = 6,
                    .fast_most = 7,
                    .windows = {}};
  of_class.lifetime = profile::Lifetime::persistent;
  of_class.bytes_by_reason = {1, 2, 3, 4, 5, 6, 7, 8};
  TensorAccount tensor;
  tensor.stake.windows = {{0, 3}, {5, 7}};
  tensor.op = std::string(kLongestName, 'x');
  tensor.reason = Reason::no_time;
  tensor.first_stretch = 1;
  tensor.stretches = 1;
  residency.account = {{of_class}, {tensor}, {{.op = 3, .ns = 4, .fast = {1, 2, 3, 4}}}};
  return plan;
}

TEST(PlanJson, AccountsOfWhatIsNotThereAreRefused) {
  const std::string text = to_json(tiered());
  EXPECT_THAT(error_of(changed(text, "[5, 7]", "[5, 8]")), HasSubstr("tells of ops that are not there"));
  EXPECT_THAT(error_of(changed(text, "[5, 7]", "[5, 5]")), HasSubstr("tells of ops that are not there"));
  EXPECT_THAT(error_of(changed(text, "0, 0, 1, 1]", "0, 0, 1, 2]")), HasSubstr("tells of stretches"));
  EXPECT_THAT(error_of(changed(text, "\"no_time\"", "\"no_idea\"")), HasSubstr("no such word"));
}

TEST(PlanJson, NamesLoseWhatJsonWouldEscape) {
  EXPECT_EQ(plain_name("a\"b\\c\nd"), "abcd");
  EXPECT_EQ(plain_name(std::string(300, 'x')).size(), kLongestName);
}

TEST(PlanJson, ResidencyIsReadAsItWasWritten) {
  const Plan plan = tiered();
  ASSERT_TRUE(validate(plan)) << validate(plan).error();
  const Result<Plan> read = parse_plan(to_json(plan), "p.json");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->residency, plan.residency);
  EXPECT_EQ(read->arenas[0].home, Home::slow);
}

TEST(PlanJson, DamagedResidencyIsRefused) {
  const std::string text = to_json(tiered());
  EXPECT_THAT(error_of(changed(text, "\"sentinel\"", "\"\"")), HasSubstr("without a policy"));
  EXPECT_THAT(error_of(changed(text, "\"slow\", 1, 2, 5000, 1", "\"slow\", 1, 2, 5000, 4")), HasSubstr("no such flag"));
  EXPECT_NE(error_of(changed(text, "\"stretches\"", "\"streches\"")), "");
  // Cut anywhere: an error, never a plan and never a crash.
  const std::size_t begin = text.find("\"residency\"");
  for (std::size_t length = begin; length + 2 < text.size(); length += 3)
    EXPECT_NE(error_of(text.substr(0, length)), "");
}

TEST(PlanJson, AnEmptyPlanIsReadToo) {
  Plan plan;
  plan.signature = signature_of({});
  EXPECT_EQ(error_of(to_json(plan)), "");
}

TEST(PlanJson, ErrorsNameLineColumnAndCure) {
  const std::string text = to_json(sample());
  EXPECT_EQ(error_of(""), "p.json:1:1: expected '{'; write it anew: hearth plan TRACE -o FILE");
  EXPECT_THAT(error_of(changed(text, "\"period\": ", "\"period\": -")),
              StartsWith("p.json:5:13: expected a whole number; write it anew"));
  EXPECT_THAT(error_of(changed(text, "\"schema_version\": 1", "\"schema_version\": 2")),
              HasSubstr(": schema version 2, this Hearth reads version 1"));
  EXPECT_THAT(error_of(text + "{"), HasSubstr("there is more after the end"));
  EXPECT_THAT(error_of(text.substr(0, text.size() / 2)), HasSubstr("expected"));
}

TEST(PlanJson, OnlyTheFormatIsAccepted) {
  const std::string text = to_json(sample());
  EXPECT_THAT(error_of(changed(text, "\"period\"", "\"perid\"")), HasSubstr("no such member here: perid"));
  EXPECT_THAT(error_of(changed(text, "  \"period\"", "  \"min_bytes\"")), HasSubstr("member min_bytes is there twice"));
  EXPECT_THAT(error_of(changed(text, "  \"min_bytes\": 1,\n", "")), HasSubstr("member min_bytes is missing"));
  EXPECT_THAT(error_of(changed(text, "\"min_bytes\": 1", "\"min_bytes\": 1.0")), HasSubstr("expected a whole number"));
  EXPECT_THAT(error_of(changed(text, "\"min_bytes\": 1", "\"min_bytes\": 01")), HasSubstr("does not begin with 0"));
  EXPECT_THAT(error_of(changed(text, "\"min_bytes\": 1", "\"min_bytes\": 99999999999999999999")),
              HasSubstr("the number is too large"));
  EXPECT_THAT(error_of(changed(text, "\"nth\", \"arena\"", "\"arena\", \"nth\"")), HasSubstr("no such column here"));
  EXPECT_THAT(error_of(changed(text, ", \"death\"]", "]")), HasSubstr("columns are missing"));
  EXPECT_THAT(error_of(changed(text, "\"mixed\"", "\"eternal\"")), HasSubstr("no such lifetime"));
  EXPECT_THAT(error_of(changed(text, "\"mixed\"", "\"short\"")), HasSubstr("frequency is null for mixed arenas"));
  EXPECT_THAT(error_of(changed(text, "\"fast\"", "\"warm\"")), HasSubstr("no such home"));
  EXPECT_THAT(error_of(changed(text, "\"digest\": \"", "\"digest\": \"g")), HasSubstr("no hexadecimal number"));
  EXPECT_THAT(error_of(changed(text, "null, 0, ", "4294967295, 0, ")), HasSubstr("the number is too large"))
      << "what stands for null in memory";
  EXPECT_THAT(error_of(std::string(1 << 20, '[')), HasSubstr("expected '{'"));
}

TEST(PlanJson, PlansThatDoNotHoldAreRefused) {
  Plan plan = sample();
  plan.entries[1].offset += 1;
  EXPECT_THAT(error_of(to_json(plan)), StartsWith("p.json: entry 1 has offset"));
}

// Whatever happens to the text, the reader neither crashes nor lets anything pass that does not hold.
TEST(PlanJson, MutationsNeverPassUnproved) {
  const std::string text = to_json(sample(3));
  static constexpr char kAlphabet[] = "0123456789[]{},:\" \nnul-.eE\\\0x\xff";
  test::Random random(42);
  int accepted = 0;
  for (int round = 0; round < 30000; ++round) {
    std::string mutant = text;
    for (std::uint32_t change = 0; change <= test::below(random, 3); ++change) {
      if (mutant.size() < 2) break;
      const std::size_t at = random() % mutant.size();
      const char letter = kAlphabet[test::below(random, sizeof(kAlphabet) - 1)];
      switch (test::below(random, 5)) {
        case 0:
          mutant.erase(at, 1 + test::below(random, 20));
          break;
        case 1:
          mutant.insert(at, 1, letter);
          break;
        case 2:
          mutant.insert(at, mutant.substr(random() % mutant.size(), 1 + test::below(random, 40)));
          break;
        case 3:
          mutant.resize(at + 1);
          break;
        default:
          mutant[at] = letter;
      }
    }
    const Result<Plan> plan = parse_plan(mutant, "mutant");
    if (!plan) {
      ASSERT_THAT(plan.error(), StartsWith("mutant:"));
      continue;
    }
    ++accepted;
    const Result<void> sound = validate(*plan);
    ASSERT_TRUE(sound) << sound.error() << "\n" << mutant;
  }
  EXPECT_GT(accepted, 100) << "white space and other digits in costs do pass";
}

class PlanFile : public testing::Test {
 protected:
  PlanFile() { std::filesystem::create_directory(folder_); }
  ~PlanFile() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("hearth-plan-" + std::to_string(::getpid()));
};

TEST_F(PlanFile, IsSavedAndLoaded) {
  const std::string path = folder_ / "plan.json";
  std::ofstream(path) << "an older one";
  ASSERT_TRUE(save_plan(sample(), path));
  const Result<Plan> plan = load_plan(path);
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(to_json(*plan), to_json(sample()));
}

TEST_F(PlanFile, ProblemsNameTheFile) {
  EXPECT_EQ(load_plan(folder_ / "none").error(), (folder_ / "none").string() + ": No such file or directory");
  EXPECT_THAT(load_plan(folder_).error(), HasSubstr("not a regular file; name a plan"));
  EXPECT_THAT(save_plan(sample(), folder_ / "none" / "plan.json").error(), HasSubstr("its directory does not exist"));
  EXPECT_THAT(save_plan(sample(), folder_).error(), HasSubstr("no regular file"));
}

}  // namespace
}  // namespace hearth::plan
