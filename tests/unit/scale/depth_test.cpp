// scale_depth(): networks that can be built of any depth come back at one that was never traced; others are refused.
#include "scale/depth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "profile/build.h"
#include "program.h"

namespace hearth::scale {
namespace {

using profile::Trace;
using testing::HasSubstr;

// A training step of a stack of layers, as PyTorch goes through it.
struct Network {
  std::uint32_t depth = 0;
  std::uint32_t kinds = 1;         // layers differ by their number modulo this
  double widens = 0;               // bytes that each layer's weights are larger
  bool reads_all = false;          // each layer reads what all layers before it wrote
  std::uint32_t lists = 1;         // of all gradients, one after the other, that the norm takes
  std::uint32_t second_stack = 0;  // layers of another stack behind the first
};

class Training {
 public:
  explicit Training(const Network& net) : net_(net) {}

  Trace trace() {
    for (std::uint32_t l = 0; l < net_.depth; ++l) {
      weights_.push_back(live(1000 + net_.widens * l));
      states_.push_back(live(2000));
      old_.push_back(live(1000 + net_.widens * l));
      live(16);  // a buffer that nothing uses
    }
    table_ = live(640);
    program_.begin("zero_grad", -1);
    for (const std::uint32_t gradient : old_) program_.takes(5).free(gradient);
    program_.takes(20).end("zero_grad");
    forward();
    backward();
    clip();
    update();
    program_.op("end", 2);
    return program_.trace();
  }

 private:
  std::uint32_t live(double bytes) { return program_.live(++last_, bytes), last_; }
  std::uint32_t alloc(double bytes) { return program_.alloc(++last_, bytes), last_; }

  std::string name(const std::string& op, std::uint32_t layer) const {
    return layer % net_.kinds == 0 ? op : op + "_other";
  }

  void forward() {
    program_.takes(30).begin("embed", sequence_++);
    std::uint32_t x = alloc(800);
    program_.takes(50).end("embed");
    for (std::uint32_t l = 0; l < net_.depth; ++l) {
      program_.module("blocks." + std::to_string(l), true);
      program_.takes(3).begin(name("linear", l), sequence_++).reads(x, 800).reads(weights_[l], 1000 + net_.widens * l);
      program_.reads(table_, 640).takes(100);
      if (net_.reads_all) {
        for (const std::uint32_t each : outputs_) program_.reads(each, 800);
      }
      saved_.push_back(alloc(400));
      program_.sample(saved_.back());
      program_.end(name("linear", l)).begin("add", sequence_++).reads(saved_.back(), 400).reads(x, 800);
      outputs_.push_back(alloc(800));
      program_.takes(40).end("add").free(x);
      x = outputs_.back();
      program_.module("blocks." + std::to_string(l), false);
    }
    for (std::uint32_t l = 0; l < net_.second_stack; ++l) {
      program_.begin("pool", -1).reads(x, 800);
      const std::uint32_t y = alloc(800);
      program_.takes(7).end("pool").free(x);
      x = y;
    }
    program_.takes(10).begin("loss", sequence_++).reads(x, 800);
    gradient_ = alloc(800);
    program_.takes(60).end("loss").free(x);
  }

  void backward() {
    const std::int64_t last = sequence_ - 1;
    for (std::uint32_t l = net_.depth; l-- > 0;) {
      const std::int64_t mine = last - 2 * (net_.depth - l);
      program_.begin("add_backward", mine + 1).reads(gradient_, 800).takes(20).end("add_backward");
      program_.begin(name("linear_backward", l), mine).reads(saved_[l], 400).reads(gradient_, 800);
      gradients_.push_back(alloc(1000 + net_.widens * l));
      const std::uint32_t next = alloc(800);
      program_.takes(200).free(gradient_).free(saved_[l]).end(name("linear_backward", l));
      gradient_ = next;
    }
    program_.free(gradient_);
    std::reverse(gradients_.begin(), gradients_.end());
  }

  // A list of operands, an op for each of them, and something as long as the list.
  void clip() {
    program_.begin("foreach_norm", -1);
    for (std::uint32_t list = 0; list < net_.lists; ++list) {
      for (const std::uint32_t each : gradients_) program_.reads(each, 1000);
    }
    std::vector<std::uint32_t> norms;
    for (const std::uint32_t each : gradients_) {
      program_.begin("norm", -1).reads(each, 1000).takes(9);
      norms.push_back(alloc(4));
      program_.end("norm");
    }
    program_.takes(10.0 * net_.depth).end("foreach_norm").begin("cat", -1);
    for (const std::uint32_t each : norms) program_.reads(each, 4);
    const std::uint32_t all = alloc(4.0 * net_.depth);
    program_.takes(15).end("cat").begin("clamp", -1).reads(all, 4.0 * net_.depth).takes(2).end("clamp").free(all);
    for (std::size_t i = norms.size(); i-- > 0;) program_.free(norms[i]);
  }

  void update() {
    for (std::uint32_t l = 0; l < net_.depth; ++l) {
      program_.begin("mul", -1).reads(states_[l], 2000).reads(gradients_[l], 1000).takes(70).end("mul");
      program_.begin("addcdiv", -1).reads(weights_[l], 1000).reads(states_[l], 2000).takes(90).end("addcdiv");
    }
  }

  Network net_;
  Program program_;
  std::vector<std::uint32_t> weights_, states_, old_, saved_, outputs_, gradients_;
  std::uint32_t last_ = 0, table_ = 0, gradient_ = 0;
  std::int64_t sequence_ = 100;
};

Trace traced(const Network& net) { return Training(net).trace(); }

Network deep(std::uint32_t depth) {
  Network net;
  net.depth = depth;
  return net;
}

// What a trace tells when serial and sequence numbers are given out in the order in which they first come.
using Row = std::tuple<int, std::string, std::uint64_t, std::size_t>;
std::vector<Row> rows_of(const Trace& trace) {
  std::vector<Row> rows;
  std::map<std::uint32_t, std::size_t> tensors;
  std::map<std::uint64_t, std::uint64_t> sequences;
  for (const hearth_event& event : trace.events) {
    if (event.type == HEARTH_EVENT_LIVE) continue;
    const bool begins = event.type == HEARTH_EVENT_OP_BEGIN && event.value >= 0;
    const std::uint64_t bytes =
        begins ? sequences.try_emplace(event.bytes, sequences.size()).first->second : event.bytes;
    const bool has = event.tensor != HEARTH_NO_ID;
    const std::size_t tensor = has ? tensors.try_emplace(event.tensor, tensors.size() + 1).first->second : 0;
    rows.emplace_back(event.type, trace.names[event.name], bytes, tensor);
  }
  return rows;
}

std::multiset<std::uint64_t> alive_in(const Trace& trace) {
  std::multiset<std::uint64_t> bytes;
  for (const hearth_event& event : trace.events) {
    if (event.type == HEARTH_EVENT_LIVE) bytes.insert(event.bytes);
  }
  return bytes;
}

void expect_same(const Trace& made, const Trace& real) {
  EXPECT_EQ(alive_in(made), alive_in(real));
  const std::vector<Row> got = rows_of(made);
  const std::vector<Row> want = rows_of(real);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(got[i], want[i]) << i;
  const profile::Profile a = profile::build(made.events, made.names, {}, 0);
  const profile::Profile b = profile::build(real.events, real.names, {}, 0);
  EXPECT_EQ(a.peak_bytes, b.peak_bytes);
  EXPECT_NEAR(static_cast<double>(a.duration_ns), static_cast<double>(b.duration_ns), 2);
  for (std::size_t i = 0; i < a.ops.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(a.ops[i].self_ns), static_cast<double>(b.ops[i].self_ns), 1) << i;
  }
}

Deep made_of(const Network& small, const Network& large, double target) {
  Result<Deep> made = scale_depth(traced(small), traced(large),
                                  {static_cast<double>(small.depth), static_cast<double>(large.depth), target});
  EXPECT_TRUE(made) << made.error();
  return made ? std::move(*made) : Deep{};
}

std::string error_of(const Trace& small, const Trace& large, const Sizes& depths) {
  const Result<Deep> made = scale_depth(small, large, depths);
  return made ? "no error" : made.error();
}

TEST(Depth, WhatIsMadeOfLayersComesBackAtAThirdDepth) {
  const Deep made = made_of(deep(3), deep(4), 48);
  expect_same(made.trace, traced(deep(48)));
  EXPECT_EQ(made.trace.info.extrapolated, "from depths 3 and 4 to 48");
  EXPECT_EQ(made.facts.alone, 0u);
  EXPECT_EQ(made.facts.layers, 1);
  EXPECT_EQ(made.facts.units, 44u);
  EXPECT_EQ(made.facts.ops, 7u);
  EXPECT_EQ(made.facts.tensors, 9u);
}

TEST(Depth, AnyTwoDepthsDo) {
  for (const auto& [small, large] : {std::pair{3u, 5u}, {4u, 6u}, {4u, 10u}, {6u, 12u}}) {
    expect_same(made_of(deep(small), deep(large), 17).trace, traced(deep(17)));
  }
}

TEST(Depth, SerialNumbersAreGivenOutInOrder) {
  std::uint32_t last = 0;
  for (const hearth_event& event : made_of(deep(3), deep(4), 9).trace.events) {
    if (event.type == HEARTH_EVENT_ALLOC) {
      EXPECT_GT(event.tensor, last);
      last = event.tensor;
    }
  }
}

TEST(Depth, LayersOfTwoKindsAreAddedInPairs) {
  const auto by_twos = [](std::uint32_t depth) {
    Network net = deep(depth);
    net.kinds = 2;
    return net;
  };
  const Deep made = made_of(by_twos(6), by_twos(8), 20);
  expect_same(made.trace, traced(by_twos(20)));
  EXPECT_EQ(made.facts.layers, 2);
  EXPECT_THAT(error_of(traced(by_twos(6)), traced(by_twos(8)), {6, 8, 21}), HasSubstr("lead to 20 or 22, not to 21"));
  EXPECT_THAT(error_of(traced(by_twos(6)), traced(by_twos(8)), {6, 8, 9}), HasSubstr("lead to 10, not to 9"));
}

TEST(Depth, ListsOfEqualTensorsThatFollowEachOtherAreToldApart) {
  const auto twice = [](std::uint32_t depth) {
    Network net = deep(depth);
    net.lists = 2;
    return net;
  };
  expect_same(made_of(twice(5), twice(7), 12).trace, traced(twice(12)));
}

TEST(Depth, StacksGrowBesideEachOther) {
  const auto two = [](std::uint32_t depth) {
    Network net = deep(depth);
    net.second_stack = depth;
    return net;
  };
  const Deep made = made_of(two(4), two(5), 9);
  expect_same(made.trace, traced(two(9)));
}

TEST(Depth, TimesOfAddedLayersAreTheMeanOfThoseMeasured) {
  Trace large = traced(deep(4));
  // The third of the linear ops takes 400 ns longer.
  int seen = 0;
  std::uint64_t later = 0;
  for (hearth_event& event : large.events) {
    event.time_ns += later;
    if (event.type == HEARTH_EVENT_SAMPLE && ++seen == 2) later = 400;
  }
  const Result<Deep> made = scale_depth(traced(deep(3)), large, {3, 4, 14});
  ASSERT_TRUE(made) << made.error();
  const auto duration = [](const Trace& trace) {
    return static_cast<double>(profile::build(trace.events, trace.names, {}, 0).duration_ns);
  };
  EXPECT_NEAR(duration(made->trace), duration(traced(deep(14))) + 400 + 10 * 100, 3);
}

TEST(Depth, RefusesLayersThatAreNotAlike) {
  const auto wider = [](std::uint32_t depth) {
    Network net = deep(depth);
    net.widens = 100;
    return net;
  };
  EXPECT_THAT(error_of(traced(wider(4)), traced(wider(6)), {4, 6, 8}), HasSubstr("not alike"));
  const auto dense = [](std::uint32_t depth) {
    Network net = deep(depth);
    net.reads_all = true;
    return net;
  };
  EXPECT_THAT(error_of(traced(dense(4)), traced(dense(6)), {4, 6, 8}), HasSubstr("not alike"));
}

TEST(Depth, RefusesTensorsThatNoRuleLeadsTo) {
  // The same events, but each layer's update takes another layer's state.
  const auto shuffled = [](std::uint32_t depth) {
    Trace trace = traced(deep(depth));
    std::vector<std::uint32_t> states;
    std::map<std::uint32_t, std::uint32_t> to;
    for (const hearth_event& event : trace.events) {
      if (event.type == HEARTH_EVENT_LIVE && event.bytes == 2000) states.push_back(event.tensor);
    }
    for (std::size_t i = 0; i < states.size(); ++i) to[states[i]] = states[(i * i + 1) % states.size()];
    bool first = true;
    for (hearth_event& event : trace.events) {
      if (event.type != HEARTH_EVENT_OPERAND || !to.contains(event.tensor)) continue;
      if (!first) event.tensor = to[event.tensor];
      first = !first;
    }
    return trace;
  };
  EXPECT_THAT(error_of(shuffled(5), shuffled(7), {5, 7, 9}), HasSubstr("layers"));
}

TEST(Depth, RefusesWhatDoesNotFit) {
  const Trace good = traced(deep(4));
  EXPECT_THAT(error_of(good, good, {4, 6, 8}), HasSubstr("no layer more"));
  EXPECT_THAT(error_of(traced(deep(1)), traced(deep(2)), {1, 2, 8}), HasSubstr("two depths that have more"));
  EXPECT_THAT(error_of(good, traced(deep(6)), {4, 6.5, 8}), HasSubstr("whole numbers"));
  EXPECT_THAT(error_of(good, traced(deep(6)), {4, 6, 900'000'000}), HasSubstr("events"));
  Trace bad = traced(deep(6));
  bad.info.extrapolated = "from depths 1 and 2 to 6";
  EXPECT_THAT(error_of(good, bad, {4, 6, 8}), HasSubstr("extrapolated itself"));
}

}  // namespace
}  // namespace hearth::scale
