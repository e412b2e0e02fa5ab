// What packing costs: training steps of 1,000 to 20,000 tensors. `ratio` is height over lower bound.
//   hearth_micro --benchmark_filter=Pack
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "plan/pack.h"

namespace hearth::plan {
namespace {

struct Instance {
  std::vector<Item> items;
  std::uint32_t period = 0;
};

// Forward keeps one activation per layer for backward, both use scratch, gradients live until the next forward pass.
Instance training_step(std::uint32_t layers) {
  std::mt19937_64 random(1);
  const auto size = [&](std::uint64_t most) { return 64 * (1 + random() % most); };
  Instance step;
  std::uint32_t place = layers;
  std::vector<std::size_t> kept;
  const auto scratch = [&] {
    step.items.push_back({.bytes = size(20'000), .birth = place, .death = place + 3, .group = 0});
    place += 4;
  };
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    scratch();
    kept.push_back(step.items.size());
    step.items.push_back({.bytes = size(40'000), .birth = place - 2, .death = 0, .group = 1});
  }
  for (std::uint32_t layer = layers; layer-- > 0;) {
    scratch();
    step.items.push_back({.bytes = size(9'000), .birth = place++, .death = layer, .group = 2});
    step.items[kept[layer]].death = place++;
  }
  step.period = place + 1;
  return step;
}

void run(benchmark::State& state, std::uint32_t budget_ms) {
  const Instance step = training_step(static_cast<std::uint32_t>(state.range(0)) / 4);
  Packing packing;
  for (auto _ : state) {
    packing = pack(step.items, {.period = step.period, .budget_ms = budget_ms});
    benchmark::DoNotOptimize(packing.height);
  }
  state.counters["ratio"] = static_cast<double>(packing.height) / static_cast<double>(packing.lower_bound);
  state.counters["placements"] = packing.attempts;
}

void PackOnce(benchmark::State& state) { run(state, 0); }
BENCHMARK(PackOnce)->Arg(1000)->Arg(5000)->Arg(20000)->Unit(benchmark::kMillisecond);

void PackDefault(benchmark::State& state) { run(state, PackOptions().budget_ms); }
BENCHMARK(PackDefault)->Arg(1000)->Arg(5000)->Arg(20000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hearth::plan
