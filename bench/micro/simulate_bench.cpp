// What judging and searching cost: trainings of so many ops and as many tensors, a fifth of the peak fast.
//   hearth_micro --benchmark_filter='Simulate|Search'
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>

#include "policy/sentinel.h"
#include "simulate/simulate.h"
#include "tier/presets.h"

namespace hearth {
namespace {

using simulate::Object;
using simulate::Workload;

// A layer has a weight and four tensors: what forward keeps for backward, a gradient until the optimizer's op, and
// scratch of either pass. Five ops, for which there are five objects.
Workload training(std::uint32_t ops) {
  std::mt19937_64 random(1);
  const std::uint32_t layers = ops / 5;
  const auto bytes = [&](std::uint64_t most) { return 4096 * (1 + random() % most); };
  Workload workload;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    Object weight;
    weight.bytes = bytes(200);
    weight.resident = true;
    workload.objects.push_back(weight);
  }
  const auto add = [&](std::uint64_t size, std::uint32_t from, std::uint32_t to) {
    Object object;
    object.bytes = size;
    object.planned = true;
    object.birth_op = from;
    object.death_op = to;
    object.alive[0] = {from, to + 1};
    workload.objects.push_back(object);
    return static_cast<std::uint32_t>(workload.objects.size() - 1);
  };
  const auto op = [&](std::initializer_list<std::uint32_t> used) {
    simulate::Op it{.self_ns = 2e4, .first_use = static_cast<std::uint32_t>(workload.uses.size())};
    for (const std::uint32_t object : used) {
      const auto whole = static_cast<double>(workload.objects[object].bytes);
      workload.uses.push_back({object, whole, whole / 2});
    }
    it.uses = static_cast<std::uint32_t>(used.size());
    workload.ops.push_back(it);
  };
  std::vector<std::uint32_t> kept, gradients;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    const std::uint32_t now = 2 * layer, back = 2 * layers + 2 * (layers - 1 - layer);
    kept.push_back(add(bytes(400), now, back));
    const std::uint32_t scratch = add(bytes(100), now, now + 1);
    op({layer, kept.back(), scratch});
    op({kept.back(), scratch});
  }
  for (std::uint32_t layer = layers; layer-- > 0;) {
    const std::uint32_t now = static_cast<std::uint32_t>(workload.ops.size());
    const std::uint32_t scratch = add(bytes(100), now, now + 1);
    gradients.push_back(add(workload.objects[layer].bytes, now, 4 * layers + layer));
    op({layer, kept[layer], scratch, gradients.back()});
    op({scratch, gradients.back()});
  }
  for (std::uint32_t layer = 0; layer < layers; ++layer) op({layer, gradients[layers - 1 - layer]});
  workload.period = static_cast<std::uint32_t>(workload.ops.size()) + 2;
  return workload;
}

double fifth_of(const Workload& workload) {
  return static_cast<double>(
             simulate::simulate(workload, {}, std::vector<float>(workload.objects.size(), 0)).fast_peak) /
         5;
}

void count(benchmark::State& state, const Workload& workload, const simulate::Schedule& schedule) {
  state.counters["ops"] = static_cast<double>(workload.ops.size());
  state.counters["tensors"] = static_cast<double>(workload.objects.size());
  state.counters["moves"] = static_cast<double>(schedule.moves.size());
}

void Simulate(benchmark::State& state) {
  const Workload workload = training(static_cast<std::uint32_t>(state.range(0)));
  const tier::Machine& machine = tier::find_preset("optane-100")->machine;
  const simulate::Schedule schedule = policy::schedule_sentinel(workload, machine, fifth_of(workload));
  for (auto _ : state) benchmark::DoNotOptimize(simulate::simulate(workload, machine, schedule).step_ns);
  count(state, workload, schedule);
}
BENCHMARK(Simulate)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

void Search(benchmark::State& state) {
  const Workload workload = training(static_cast<std::uint32_t>(state.range(0)));
  const tier::Machine& machine = tier::find_preset("optane-100")->machine;
  simulate::Schedule schedule;
  for (auto _ : state) schedule = policy::schedule_sentinel(workload, machine, fifth_of(workload));
  count(state, workload, schedule);
}
BENCHMARK(Search)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace hearth
