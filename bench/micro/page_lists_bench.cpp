// What an operand costs the training thread under HEARTH_POLICY=lru: of one tensor, by its units of 64 KiB.
#include <benchmark/benchmark.h>

#include "migrate/page_lists.h"
#include "tier/single_backend.h"

namespace {

using hearth::migrate::PageLists;
using hearth::tier::Extent;
using hearth::tier::Tier;

constexpr std::uintptr_t kBase = std::uintptr_t{1} << 40;
constexpr std::uint64_t kUnits = 4096;

// Movers outlive the benchmark, so the world is never destroyed.
struct World {
  World() {
    const auto all = hearth::tier::extent(kBase, kBase + kUnits * PageLists::kUnit);
    pages.add_range(all.address, all.bytes);
    migrator.init(backend, pages, {});
    lists.init(pages, migrator, all.bytes);
    lists.add_range(all.address, all.bytes);
    pages.claim(all.bytes);
    pages.settle(all, Tier::fast);
    lists.add(all, false);
  }
  hearth::tier::SingleBackend backend;
  hearth::tier::Pages pages;
  hearth::migrate::Migrator migrator;
  PageLists lists;
};

// `ops` since the one before: 1 is the same access, seen again; from 16 on another one, for which the books are asked.
void touch(benchmark::State& state) {
  static World& w = *new World;
  const Extent tensor{reinterpret_cast<const void*>(kBase),
                      static_cast<std::uint64_t>(state.range(0)) * PageLists::kUnit};
  for (auto _ : state) {
    for (std::int64_t i = 0; i < state.range(1); ++i) w.lists.tick();
    w.lists.touch(tensor);
  }
}
BENCHMARK(touch)->Name("PageLists/touch")->ArgNames({"units", "ops"})->ArgsProduct({{1, 16, 1024}, {1, 16}});

}  // namespace
