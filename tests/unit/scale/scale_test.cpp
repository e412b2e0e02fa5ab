// scale(): programs whose bytes and times at any size are known come back at a third one; what does not fit is told.
#include "scale/scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "profile/build.h"
#include "program.h"

namespace hearth::scale {
namespace {

using profile::Trace;
using testing::HasSubstr;

// A forward and a backward op on a batch, and a step of the optimizer, which knows none.
Program training(double batch) {
  Program program;
  program.live(1, 4000).live(2, 100 * batch);  // weights, input
  program.takes(70).begin("linear").takes(5).reads(1, 4000).reads(2, 100 * batch).alloc(3, 64 + 1000 * batch);
  program.takes(300 + 20 * batch).begin("inner").takes(40 * batch).end("inner").takes(10).end("linear").takes(25);
  program.begin("backward").reads(3, 64 + 1000 * batch).alloc(4, 4000).takes(80 * batch).free(3).end("backward");
  program.free(2).begin("step").reads(1, 4000).reads(4, 4000).takes(900).end("step").free(4).takes(15);
  program.op("end", 2);
  return program;
}

Scaled scaled(const Trace& small, const Trace& large, const Sizes& sizes) {
  Result<Scaled> made = scale(small, large, sizes);
  EXPECT_TRUE(made) << made.error();
  return made ? std::move(*made) : Scaled{};
}

std::string error_of(const Trace& small, const Trace& large) {
  const Result<Scaled> made = scale(small, large, {2, 4, 8});
  return made ? "no error" : made.error();
}

// When things happen within an op is not known: its times are to be right, and the order of things.
void expect_same(const Trace& made, const Trace& real) {
  ASSERT_EQ(made.events.size(), real.events.size());
  EXPECT_EQ(made.names, real.names);
  for (std::size_t i = 0; i < real.events.size(); ++i) {
    const hearth_event &got = made.events[i], &want = real.events[i];
    EXPECT_EQ(got.type, want.type) << i;
    EXPECT_EQ(got.bytes, want.bytes) << i;
    EXPECT_EQ(got.flags, want.flags) << i;
    EXPECT_GE(got.time_ns, made.events[i > 0 ? i - 1 : 0].time_ns) << i;
  }
  const profile::Profile got = profile::build(made.events, made.names, {}, 0);
  const profile::Profile want = profile::build(real.events, real.names, {}, 0);
  ASSERT_EQ(got.ops.size(), want.ops.size());
  for (std::size_t i = 0; i < want.ops.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(got.ops[i].self_ns), static_cast<double>(want.ops[i].self_ns), 1) << i;
  }
  EXPECT_NEAR(static_cast<double>(got.duration_ns), static_cast<double>(want.duration_ns), 2);
  EXPECT_EQ(got.peak_bytes, want.peak_bytes);
}

TEST(Scale, WhatIsLinearComesBackAtAThirdSize) {
  const Scaled made = scaled(training(2).trace(), training(4).trace(), {2, 4, 40});
  expect_same(made.trace, training(40).trace());
  EXPECT_EQ(made.trace.info.extrapolated, "from sizes 2 and 4 to 40");
  EXPECT_EQ(made.facts.alone, 0u);
  EXPECT_EQ(made.facts.tensors, 4u);
  EXPECT_EQ(made.facts.growing, 2u);
  EXPECT_EQ(made.facts.shrinking + made.facts.steeper + made.facts.shorter + made.facts.ops_alone, 0u);
  EXPECT_EQ(made.facts.ops, 5u);
  EXPECT_LT(made.facts.small_ns, made.facts.large_ns);
  const Trace real = training(40).trace();
  EXPECT_NEAR(made.facts.target_ns, static_cast<double>(real.events.back().time_ns - real.events[2].time_ns), 1);
}

TEST(Scale, SizesNeedBeNoWholeNumbersNorNeighbours) {
  expect_same(scaled(training(2.5).trace(), training(10).trace(), {2.5, 10, 2560}).trace, training(2560).trace());
}

TEST(Scale, OpsOfOneKindTakeTheirMean) {
  const auto program = [](double size, double first, double second, double other) {
    Program made;
    made.live(1, 10 * size).live(2, 10 * size).live(3, 99 * size);
    made.begin("a").reads(1, 10 * size).takes(first).end("a");
    made.begin("a").reads(2, 10 * size).takes(second).end("a");
    made.begin("a").reads(3, 99 * size).takes(other).end("a");
    return made;
  };
  const Scaled made = scaled(program(1, 90, 110, 500).trace(), program(2, 230, 170, 1000).trace(), {1, 2, 10});
  const profile::Profile profile = profile::build(made.trace.events, made.trace.names, {}, 0);
  ASSERT_EQ(profile.ops.size(), 3u);
  EXPECT_NEAR(static_cast<double>(profile.ops[0].self_ns), 1000, 1);
  EXPECT_NEAR(static_cast<double>(profile.ops[1].self_ns), 1000, 1);
  EXPECT_NEAR(static_cast<double>(profile.ops[2].self_ns), 5000, 1);
  EXPECT_EQ(made.facts.kinds, 2u);
}

TEST(Scale, NoiseOfWhatDoesNotGrowIsNotMultiplied) {
  const auto program = [](double size, double step_ns) {
    Program made;
    made.live(1, 50).begin("outer").begin("step").reads(1, 50).takes(step_ns).end("step").takes(3).end("outer");
    made.live(2, 8 * size).begin("uses").reads(2, 8 * size).takes(10 * size).end("uses");
    return made;
  };
  const Scaled made = scaled(program(1, 700).trace(), program(2, 800).trace(), {1, 2, 1000});
  const profile::Profile profile = profile::build(made.trace.events, made.trace.names, {}, 0);
  EXPECT_NEAR(static_cast<double>(profile.ops[1].self_ns), 800, 1);
  EXPECT_NEAR(static_cast<double>(profile.ops[2].self_ns), 10'000, 1);
}

TEST(Scale, WhatIsSmallerAtTheLargerSizeStaysAndIsTold) {
  const auto program = [](double size, double bytes, double ns) {
    Program made;
    made.live(1, 8 * size).begin("a").reads(1, 8 * size).alloc(2, bytes).takes(ns).end("a").free(2);
    return made;
  };
  const Scaled made = scaled(program(2, 500, 90).trace(), program(4, 400, 60).trace(), {2, 4, 8});
  EXPECT_EQ(made.trace.events[3].bytes, 400u);
  EXPECT_NEAR(made.facts.target_ns, 60, 1);
  EXPECT_EQ(made.facts.shrinking, 1u);
  EXPECT_EQ(made.facts.shorter, 1u);
  EXPECT_NEAR(made.facts.shorter_ns, 60, 1);
}

TEST(Scale, WhatGrowsFasterThanTheSizeIsTold) {
  const auto program = [](double size) {
    Program made;
    made.begin("a").alloc(1, size * size * 100).free(1).alloc(2, size * 100).free(2).end("a");
    return made;
  };
  EXPECT_EQ(scaled(program(2).trace(), program(4).trace(), {2, 4, 8}).facts.steeper, 1u);
}

// A kernel that is too small to be measured at one size is there at another.
TEST(Scale, AnOpWithoutAnyMeasuredTimeTakesItsOwnAtItsEnd) {
  const auto program = [](double size, double ns) {
    Program made;
    made.live(1, size).begin("x").takes(7).end("x");
    made.begin("a").reads(1, size).takes(ns).end("a");
    made.begin("a").reads(1, size).takes(2 * size - ns).end("a").op("last", 1);
    return made;
  };
  const Scaled made = scaled(program(2, 0).trace(), program(4, 0).trace(), {2, 4, 100});
  const profile::Profile profile = profile::build(made.trace.events, made.trace.names, {}, 0);
  EXPECT_NEAR(static_cast<double>(profile.ops[1].self_ns), 100, 1);
  EXPECT_NEAR(static_cast<double>(profile.ops[2].self_ns), 100, 1);
  EXPECT_NEAR(static_cast<double>(profile.ops[3].self_ns), 1, 1);
}

// Thirty layers; at `odd` the larger trace runs another kernel, with memory of its own.
Program layers(double size, int odd = -1) {
  Program program;
  program.live(1, 1 << 20);
  for (int i = 0; i < 30; ++i) {
    const auto out = static_cast<std::uint32_t>(10 + i);
    program.begin("conv").reads(1, 1 << 20).alloc(out, 100 * size);
    if (i == odd) program.begin("other").alloc(99, 7 * size).takes(11 * size).free(99).end("other");
    program.takes(30 * size).end("conv");
  }
  for (std::uint32_t i = 0; i < 30; ++i) program.begin("backward").takes(50 * size).free(10 + i).end("backward");
  return program;
}

TEST(Scale, WhatOnlyTheLargerTraceHasGrowsInProportionAndIsTold) {
  const Scaled made = scaled(layers(2).trace(), layers(4, 20).trace(), {2, 4, 16});
  EXPECT_EQ(made.facts.alone, 4u);
  EXPECT_EQ(made.facts.ops_alone, 1u);
  EXPECT_EQ(made.facts.alone_tensors, 1u);
  EXPECT_EQ(made.facts.alone_bytes, 28u);
  expect_same(made.trace, layers(16, 20).trace());
}

TEST(Scale, WhatOnlyTheSmallerTraceHasIsDroppedAndTold) {
  const Scaled made = scaled(layers(2, 3).trace(), layers(4).trace(), {2, 4, 16});
  EXPECT_EQ(made.facts.alone, 4u);
  EXPECT_EQ(made.facts.ops_alone, 0u);
  expect_same(made.trace, layers(16).trace());
}

TEST(Scale, OtherProgramsAreRefused) {
  EXPECT_THAT(error_of(layers(2).trace(), training(4).trace()), HasSubstr("do not match"));
  EXPECT_THAT(error_of(training(2).trace(), Program().op("x", 1).trace()), HasSubstr("do not match"));
  // The same events with tensors that belong to others: nothing of them would be right.
  Trace crossed = layers(4).trace();
  for (hearth_event& event : crossed.events) {
    if (event.type == HEARTH_EVENT_FREE) event.tensor = 10 + 39 - event.tensor;
  }
  EXPECT_THAT(error_of(layers(2).trace(), crossed), HasSubstr("do not match"));
}

// What is alive is listed in the order of addresses, which two runs need not share.
TEST(Scale, TensorsThatWereThereBeforeAreKnownByTheirUses) {
  const auto program = [](double size, bool swapped) {
    Program made;
    made.live(swapped ? 2 : 1, swapped ? 30 * size : 700).live(swapped ? 1 : 2, swapped ? 700 : 30 * size).live(5, 44);
    made.begin("a").reads(1, 700).takes(9).end("a").begin("b").reads(2, 30 * size).takes(size).end("b").free(2);
    return made;
  };
  expect_same(scaled(program(2, false).trace(), program(4, true).trace(), {2, 4, 8}).trace, program(8, true).trace());
}

TEST(Scale, WhatGrowsBeyondTheLeastSizeHasPagesOfItsOwn) {
  const auto program = [](double size) {
    Program made;
    made.begin("a").alloc(1, 4000, 0).free(1).alloc(2, 1000 * size, 1000 * size < 16384 ? 0 : Program::kOwnPages);
    made.free(2).alloc(3, 16384).free(3).end("a");
    return made;
  };
  expect_same(scaled(program(2).trace(), program(4).trace(), {2, 4, 20}).trace, program(20).trace());
}

TEST(Scale, TracesThatDoNotFitTogetherAreRefused) {
  const Trace good = training(2).trace();
  Trace bad = training(4).trace();
  bad.dropped = 3;
  EXPECT_THAT(error_of(good, bad), HasSubstr("3 events did not fit"));
  bad = training(4).trace();
  bad.info.mode = "faults";
  EXPECT_THAT(error_of(good, bad), HasSubstr("in mode faults"));
  bad = training(4).trace();
  bad.info.torch_version = "1.13.1";
  EXPECT_THAT(error_of(good, bad), HasSubstr("the other of 1.13.1"));
  bad = training(4).trace();
  bad.info.extrapolated = "from sizes 1 and 2 to 4";
  EXPECT_THAT(error_of(good, bad), HasSubstr("extrapolated itself"));
}

// Ops of other threads have no time of the main thread's; their tensors grow all the same.
TEST(Scale, OtherThreadsKeepTheirPlace) {
  const auto program = [](double size) {
    Program made;
    made.live(1, 8 * size).begin("a").reads(1, 8 * size).takes(2 * size);
    made.begin("task").trace().events.back().thread = 1;
    made.alloc(2, 5 * size).trace().events.back().thread = 1;
    made.takes(3 * size).end("task").trace().events.back().thread = 1;
    made.takes(size).free(2).end("a");
    return made;
  };
  expect_same(scaled(program(2).trace(), program(4).trace(), {2, 4, 64}).trace, program(64).trace());
}

}  // namespace
}  // namespace hearth::scale
