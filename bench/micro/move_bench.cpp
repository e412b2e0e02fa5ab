// What a move costs the thread that asks for it, and what the books cost a tensor that is placed.
#include <benchmark/benchmark.h>

#include <memory>

#include "migrate/migrator.h"
#include "platform/os_clock.h"
#include "platform/os_thread.h"
#include "tier/single_backend.h"

namespace {

using hearth::migrate::Migrator;
using hearth::tier::Pages;
using hearth::tier::Tier;

constexpr std::uint64_t kPage = Pages::kPage;
constexpr std::uintptr_t kBase = std::uintptr_t{1} << 40;

// Movers outlive the benchmark, so the world is never destroyed.
struct World {
  World() {
    pages.add_range(reinterpret_cast<void*>(kBase), 1 << 30);
    migrator.init(backend, pages, {});
  }
  hearth::tier::SingleBackend backend;
  Pages pages;
  Migrator migrator;
};

World& world() {
  static World& made = *new World;
  return made;
}

// Nothing lies there, so the mover has nothing to do but to take and finish the request.
void post(benchmark::State& state) {
  World& w = world();
  const bool asleep = state.range(0) != 0;
  for (auto _ : state) {
    w.migrator.drain(1'000'000'000);
    if (asleep) hearth::os::sleep_until(hearth::os::monotonic_ns() + 2'000'000);
    const std::uint64_t begin = hearth::os::monotonic_ns();
    benchmark::DoNotOptimize(w.migrator.post({.pages = hearth::tier::extent(kBase, kBase + kPage)}));
    state.SetIterationTime(static_cast<double>(hearth::os::monotonic_ns() - begin) / 1e9);
  }
}
BENCHMARK(post)->ArgName("asleep")->Arg(0)->Arg(1)->Iterations(2000)->UseManualTime();

// A block of so many pages that lie somewhere already: what every allocation pays while two tiers are on.
void look_up(benchmark::State& state) {
  World& w = world();
  const auto bytes = static_cast<std::uint64_t>(state.range(0)) * kPage;
  w.pages.settle(hearth::tier::extent(kBase, kBase + bytes), Tier::slow);
  for (auto _ : state)
    benchmark::DoNotOptimize(w.pages.next_run(hearth::tier::extent(kBase, kBase + bytes), Tier::none));
}
BENCHMARK(look_up)->ArgName("pages")->Arg(4)->Arg(64)->Arg(4096);

}  // namespace
