// Steady state: what a planned tensor costs, from its size to its place and back. `pair` is the time of one
// take and free, replay of the recorded order included; PlannedReplay is that replay alone.
//   hearth_micro --benchmark_filter=Planned --benchmark_repetitions=9 --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "arena/packed_arena.h"
#include "iteration/follower.h"
#include "plan/pack.h"

namespace hearth {
namespace {

struct Event {
  std::uint64_t bytes;  // 0: the entry is freed
  std::uint64_t entry;
};

struct Iteration {
  std::vector<Event> events;
  std::vector<plan::Item> items;  // entry by entry
  std::mt19937_64 random{1};

  void birth(std::uint64_t most) {
    const std::uint64_t bytes = 64 * (1 + random() % most);
    const auto place = static_cast<std::uint32_t>(events.size());
    events.push_back({bytes, items.size()});
    items.push_back({.bytes = bytes, .birth = place, .death = place, .group = 0});
  }
  void death(std::uint64_t entry) {
    items[entry].death = static_cast<std::uint32_t>(events.size());
    events.push_back({0, entry});
  }
};

// Every layer keeps one activation for the way back; both ways make four tensors that live for an op or two.
Iteration training_step(std::uint32_t entries) {
  Iteration step;
  std::vector<std::uint64_t> kept;
  const auto scratch = [&] {
    const std::uint64_t first = step.items.size();
    step.birth(400);
    step.birth(100);
    step.death(first);
    step.birth(400);
    step.death(first + 1);
    step.birth(25);
    step.death(first + 2);
    step.death(first + 3);
  };
  const std::uint32_t layers = entries / 10;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    scratch();
    kept.push_back(step.items.size());
    step.birth(400);
  }
  for (; !kept.empty(); kept.pop_back()) {
    const std::uint64_t gradient = step.items.size();
    step.birth(200);
    scratch();
    step.death(kept.back());
    step.death(gradient);
  }
  return step;
}

struct Planned {
  iteration::Follower follower;
  arena::PackedArena arena;
};

// Never torn down, as in a training process.
Planned* planned(const Iteration& step) {
  const auto period = static_cast<std::uint32_t>(step.events.size());
  const plan::Packing packing = plan::pack(step.items, {.period = period});
  std::vector<arena::Place> places;
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < step.items.size(); ++i) {
    places.push_back({packing.offsets[i], step.items[i].bytes, true});
    sizes.push_back(step.items[i].bytes);
  }
  auto* made = new Planned;
  const bool ready = made->arena.init(packing.height) && made->arena.add(places) == 0 && made->follower.load(sizes);
  return ready ? made : nullptr;
}

void count_pairs(benchmark::State& state, const Iteration& step) {
  const double pairs = static_cast<double>(state.iterations()) * static_cast<double>(step.items.size());
  state.counters["pair"] = benchmark::Counter(pairs, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void PlannedTensor(benchmark::State& state) {
  const Iteration step = training_step(static_cast<std::uint32_t>(state.range(0)));
  Planned* plan = planned(step);
  if (plan == nullptr) return state.SkipWithError("no memory");
  std::vector<void*> live(step.items.size());
  std::uint64_t refused = 0;
  for (auto _ : state) {
    for (const Event& event : step.events) {
      if (event.bytes != 0) {
        live[event.entry] = plan->arena.take(plan->follower.next(event.bytes));
        refused += live[event.entry] == nullptr;
      } else {
        benchmark::DoNotOptimize(plan->arena.free(live[event.entry]));
      }
    }
  }
  if (refused != 0 || plan->follower.missed() != 0) return state.SkipWithError("out of step");
  count_pairs(state, step);
}
BENCHMARK(PlannedTensor)->Arg(30)->Arg(300)->Arg(3000)->Arg(20000);

void PlannedReplay(benchmark::State& state) {
  const Iteration step = training_step(static_cast<std::uint32_t>(state.range(0)));
  std::vector<std::uint64_t> live(step.items.size());
  for (auto _ : state) {
    for (const Event& event : step.events) {
      if (event.bytes != 0) {
        live[event.entry] = event.bytes;
      } else {
        benchmark::DoNotOptimize(live[event.entry]);
      }
    }
  }
  count_pairs(state, step);
}
BENCHMARK(PlannedReplay)->Arg(30)->Arg(300)->Arg(3000)->Arg(20000);

}  // namespace
}  // namespace hearth
