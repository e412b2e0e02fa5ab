// Text for people: units, tables, the plot, and the summary at exit.
#include "report/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "report/layout.h"
#include "unit/report/example.h"

namespace hearth::report {
namespace {

using testing::HasSubstr;

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

std::size_t code_points(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

TEST(Layout, UnitsHaveThreeDigits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(12.3 * 1024 * 1024), "12.3 MiB");
  EXPECT_EQ(bytes_text(1024.0 * 1024 - 1), "1.00 MiB") << "never 1024 KiB";
  EXPECT_EQ(bytes_text(3e18), "2665 PiB");
  EXPECT_EQ(time_text(850), "850 ns");
  EXPECT_EQ(time_text(1.2e6), "1.20 ms");
  EXPECT_EQ(time_text(3.41e9), "3.41 s");
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(percent_text(0.9996), "100.0 %");
}

TEST(Layout, BucketsAreNamedByTheirBounds) {
  EXPECT_EQ(bucket_text(0, 2, 4), "< 1");
  EXPECT_EQ(bucket_text(1, 2, 4), "1 .. 2");
  EXPECT_EQ(bucket_text(3, 2, 4), ">= 4");
  EXPECT_EQ(bucket_text(2, 1.5, 4), "1.5 .. 2.2");
  EXPECT_EQ(bucket_text(0, 2, 1), "any");
}

TEST(Layout, FewTouchesDoNotReadAsNone) {
  EXPECT_EQ(touches_text(0), "-");
  EXPECT_EQ(touches_text(0.046), "0.046");
  EXPECT_EQ(touches_text(0.5), "0.5");
  EXPECT_EQ(touches_text(0.00123), "0.0012");
  EXPECT_EQ(touches_text(0.999), "1.0");
  EXPECT_EQ(touches_text(12), "12.0");
}

TEST(Layout, LongNamesLoseTheirMiddle) {
  EXPECT_EQ(shortened("aten::addmm", 20), "aten::addmm");
  EXPECT_EQ(shortened("abcdefghij", 7), "ab...ij");
  EXPECT_EQ(shortened("\u00e4\u00f6\u00fc\u00df\u00e4\u00f6\u00fc\u00df", 5), "\u00e4...\u00df") << "whole characters";
  EXPECT_EQ(shortened("abcdef", 2), "ab");
}

TEST(Layout, TablesAlignAndFitTheWidth) {
  Table table({{"name", Table::Align::left, true}, {"n"}});
  table.add({"short", "1"});
  table.add({std::string(100, 'x'), "12345"});
  std::string out;
  table.write(out, 40);
  ASSERT_EQ(lines(out).size(), 3u);
  EXPECT_EQ(lines(out)[1].substr(0, 7), "  short");
  EXPECT_EQ(lines(out)[1].back(), '1');
  for (const std::string& line : lines(out)) EXPECT_LE(line.size(), 40u);
  EXPECT_THAT(out, HasSubstr("..."));
}

TEST(Layout, ThePlotKeepsAShortPeak) {
  std::vector<profile::Point> points{{0, 100}, {500'000, 1000}, {500'001, 100}, {1'000'000, 100}};
  std::string out;
  write_plot(out, points, 1'000'000, {60, 4, false});
  ASSERT_EQ(lines(out).size(), 5u);
  EXPECT_THAT(lines(out)[0], HasSubstr("1000 B |"));
  const std::string top = lines(out)[0];
  EXPECT_EQ(std::count(top.begin(), top.end(), '#'), 1);
  EXPECT_THAT(lines(out)[4], HasSubstr("1.00 ms"));
  std::string unicode;
  write_plot(unicode, points, 1'000'000, {60, 4, true});
  for (const std::string& line : lines(unicode)) EXPECT_LE(code_points(line), 60u);
  std::string empty;
  write_plot(empty, {}, 0, {60, 4, false});
  EXPECT_EQ(lines(empty).size(), 5u);
}

TEST(Summary, SaysWhatMattersInFewLines) {
  const profile::Profile profile = test::golden_profile();
  std::string out;
  write_text(out, test::example_facts(), &profile);
  EXPECT_THAT(out, HasSubstr("300 iterations (ends found by optimizer)"));
  EXPECT_THAT(out, HasSubstr("12,345 allocated, 12,000 freed, 345 live"));
  EXPECT_THAT(out, HasSubstr("3.00 ms, 1.50x the usual 2.00 ms\n  one caught fault costs 45.0 us"));
  EXPECT_THAT(out, HasSubstr("99.1 % inside ops"));
  EXPECT_THAT(out, HasSubstr("degraded: no precise samples (perf_event_open: EACCES)\n    cure: set kernel."));
  EXPECT_THAT(out, HasSubstr("persistent"));
  EXPECT_THAT(out, HasSubstr("per outermost op: precision 100.0 %"));
}

TEST(Summary, StaysWithinFortyLinesOfAHundredColumns) {
  RunFacts facts = test::example_facts();
  facts.command = std::string(3000, 'x');
  const std::string long_text(500, 'y');
  facts.live.degradation_count = LiveFacts::kMaxDegradations;
  for (Degradation& each : facts.live.degradations) each = {long_text.c_str(), nullptr, ""};
  facts.live.profiled.dropped_events = 1;
  facts.live.untracked = 1;
  facts.adapter.clear();
  profile::Profile profile = test::golden_profile();
  for (std::size_t i = 0; i < profile.tensors.size(); ++i) profile.tensors[i].frequency = static_cast<std::uint8_t>(i);
  profile.names[profile.tensors[0].producer] = long_text;
  for (std::uint32_t i = 0; i < 200; ++i) {
    profile.tensors.push_back(profile.tensors[i % 8]);
    profile.tensors.back().frequency = static_cast<std::uint8_t>(i % 16);
  }
  std::string out;
  write_text(out, facts, &profile);
  EXPECT_LE(lines(out).size(), 40u);
  for (const std::string& line : lines(out)) EXPECT_LE(code_points(line), 100u) << line;
}

TEST(Summary, IsWrittenWithoutPyTorchToo) {
  std::string out;
  write_text(out, RunFacts{}, nullptr);
  EXPECT_THAT(out, HasSubstr("no PyTorch seen"));
  EXPECT_LE(lines(out).size(), 4u);
}

}  // namespace
}  // namespace hearth::report
