// The detector on recordings of real loops (tests/torch/loops) in PyTorch 1.13 and 2.13.
#include "unit/iteration/recording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace hearth::iteration {
namespace {

struct Recorded {
  const char* loop;
  Source source;
  std::size_t closed;      // iterations
  std::uint32_t usual;     // of them alike
  std::size_t signatures;  // at most
};

void PrintTo(const Recorded& recorded, std::ostream* out) { *out << recorded.loop; }

const std::vector<RecordedEvent>& events_of(const std::string& loop, const std::string& version) {
  static std::string loaded;
  static std::vector<RecordedEvent> events;
  const auto folder = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "data" / "loops";
  const std::string path = folder / (loop + "-" + version + ".txt");
  if (path != loaded) events = read_recording(path);
  loaded = path;
  return events;
}

std::uint32_t most_seen(const Player& loop) {
  std::uint32_t most = 0;
  for (const Closed& closed : loop.closed) most = std::max(most, closed.times_seen);
  return most;
}

class RecordedLoop : public ::testing::TestWithParam<std::tuple<Recorded, const char*>> {
 protected:
  const Recorded& expected() const { return std::get<0>(GetParam()); }
  const std::vector<RecordedEvent>& events() const { return events_of(expected().loop, std::get<1>(GetParam())); }
};

TEST_P(RecordedLoop, IsToldRight) {
  Player loop(64);
  play(loop, events(), Identities::known);
  EXPECT_EQ(loop.detector.source(), expected().source);
  EXPECT_EQ(most_seen(loop), expected().usual);
  EXPECT_LE(loop.detector.signatures_cached(), expected().signatures);
  EXPECT_FALSE(loop.detector.take_retraction());
  EXPECT_EQ(loop.closed.size(), expected().closed);
}

// Where the adapter cannot tell the optimizer's object.
TEST_P(RecordedLoop, IsToldRightWithoutIdentities) {
  Player loop(64);
  play(loop, events(), Identities::unknown);
  EXPECT_EQ(loop.detector.source(), expected().source);
  const bool gan = std::string_view(expected().loop) == "gan";
  // Its iterations are halves until the optimizers' rhythm shows: after one with lazily made state and three more.
  EXPECT_EQ(loop.closed.size(), expected().closed + (gan ? 3 : 0));
  EXPECT_EQ(most_seen(loop), expected().usual - (gan ? 2 : 0));
  EXPECT_EQ(loop.detector.take_retraction(), gan);
  EXPECT_EQ(loop.detector.signatures_cached() == 0, gan);
}

// Extra ops at random, for a hundredth of all events, change neither the boundaries nor the source.
TEST_P(RecordedLoop, IsToldRightInNoise) {
  Random random(8);
  Player loop(64);
  for (const RecordedEvent& event : events()) {
    if (random.below(100) == 0) loop.op(5000 + random.below(10));
    play(loop, {event}, Identities::known);
  }
  EXPECT_EQ(loop.detector.source(), expected().source);
  EXPECT_EQ(loop.closed.size(), expected().closed);
}

constexpr Recorded kRecorded[] = {
    {"plain", Source::optimizer, 30, 29, 2},        {"accumulation", Source::optimizer, 20, 19, 2},
    {"gan", Source::optimizer, 25, 23, 3},          {"evaluation", Source::optimizer, 60, 57, 3},
    {"last_batch", Source::optimizer, 50, 40, 4},   {"mixed_precision", Source::optimizer, 35, 32, 4},
    {"checkpointed", Source::optimizer, 20, 19, 2}, {"lbfgs", Source::optimizer, 20, 3, 18},
    {"recurrent", Source::optimizer, 40, 7, 7},
};

std::string name_of(const ::testing::TestParamInfo<std::tuple<Recorded, const char*>>& info) {
  std::string version = std::get<1>(info.param);
  std::replace(version.begin(), version.end(), '.', '_');
  return std::string(std::get<0>(info.param).loop) + "_" + version;
}

INSTANTIATE_TEST_SUITE_P(Torch, RecordedLoop,
                         ::testing::Combine(::testing::ValuesIn(kRecorded), ::testing::Values("1.13", "2.13")),
                         name_of);

class RecordedPeriod : public ::testing::TestWithParam<const char*> {};

TEST_P(RecordedPeriod, OfInferenceIsTheBatchAndNotTheLayer) {
  Player loop(64);
  play(loop, events_of("inference", GetParam()), Identities::known);
  EXPECT_EQ(loop.detector.source(), Source::period);
  EXPECT_FALSE(loop.detector.take_retraction());
  // 96 batches in three epochs; 12 layers each. Some pass before the period is known.
  EXPECT_GE(loop.closed.size(), 90u);
  EXPECT_LE(loop.closed.size(), 96u);
  const std::uint32_t usual = loop.last().signature.op_count;
  EXPECT_EQ(usual, loop.detector.period());
  for (std::size_t i = 1; i < loop.closed.size(); ++i) {
    EXPECT_NEAR(loop.closed[i].signature.op_count, usual, 15) << i;
  }
}

TEST_P(RecordedPeriod, OfManualSgdIsTheStepWhetherTheLossIsReadOrNot) {
  Player loop(64);
  play(loop, events_of("manual_sgd", GetParam()), Identities::known);
  EXPECT_EQ(loop.detector.period(), 37u);
  EXPECT_FALSE(loop.detector.take_retraction());
  EXPECT_GE(loop.closed.size(), 290u);
  EXPECT_LE(loop.closed.size(), 299u);
  for (std::size_t i = 1; i < loop.closed.size(); ++i) {
    const std::uint32_t ops = loop.closed[i].signature.op_count;
    EXPECT_TRUE(ops == 37 || ops == 38) << i << ": " << ops;
  }
}

// The allocations of these loops have the same period, where no op marks come at all.
TEST_P(RecordedPeriod, ShowsInTheAllocationsAlone) {
  std::vector<RecordedEvent> events = events_of("manual_sgd", GetParam());
  std::erase_if(events, [](const RecordedEvent& event) { return event.kind == 'o' || event.kind == 'n'; });
  Player loop(64);
  play(loop, events, Identities::known);
  EXPECT_EQ(loop.detector.source(), Source::period);
  EXPECT_EQ(loop.detector.period(), 39u);
  EXPECT_GE(loop.closed.size(), 280u);
}

INSTANTIATE_TEST_SUITE_P(Torch, RecordedPeriod, ::testing::Values("1.13", "2.13"),
                         [](const auto& version) { return std::string(version.param) == "1.13" ? "v1_13" : "v2_13"; });

}  // namespace
}  // namespace hearth::iteration
