// What one tensor costs: registering, finding and forgetting it, and its pages from the heap.
//   hearth_micro --benchmark_filter='Registry|Heap'
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "arena/page_heap.h"
#include "registry/registry.h"

namespace hearth {
namespace {

constexpr std::uintptr_t kBase = 0x7f1234000000;

const void* at_address(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

registry::NewTensor tensor_at(std::uintptr_t address, std::uint64_t bytes) {
  return {.address = at_address(address),
          .bytes = bytes,
          .op = NameId{1},
          .iteration = 0,
          .op_index = 0,
          .nth = 0,
          .own_pages = false};
}

// One registry for all benchmarks and threads, with the live tensors of a large model in it.
registry::Registry& shared_registry() {
  static const std::unique_ptr<registry::Registry> instance = [] {
    auto made = std::make_unique<registry::Registry>();
    made->init(registry::Registry::kMaxCapacity);
    for (std::uintptr_t i = 0; i < 5000; ++i) {
      made->add(tensor_at(kBase + (8ul << 30) + i * 0x10040, 0x10000));
    }
    return made;
  }();
  return *instance;
}

void RegistryAddRemove(benchmark::State& state) {
  registry::Registry& registry = shared_registry();
  auto bytes = static_cast<std::uint64_t>(state.range(0));
  std::uintptr_t start = kBase + (static_cast<std::uintptr_t>(state.thread_index()) << 32);
  std::uintptr_t at = 0;
  for (auto _ : state) {
    const void* address = at_address(start + at);
    benchmark::DoNotOptimize(registry.add(tensor_at(start + at, bytes)));
    registry.release(registry.remove(address));
    at = (at + 4160) & ((16u << 20) - 64);
  }
}
BENCHMARK(RegistryAddRemove)->Arg(256)->Arg(1 << 20)->Arg(64 << 20)->Threads(1)->Threads(2)->UseRealTime();

void RegistryFindStart(benchmark::State& state) {
  registry::Registry& registry = shared_registry();
  std::uintptr_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(registry.find_start(at_address(kBase + (8ul << 30) + i * 0x10040)));
    i = i < 4999 ? i + 1 : 0;
  }
}
BENCHMARK(RegistryFindStart)->Threads(1)->Threads(2)->UseRealTime();

void RegistryFindInterior(benchmark::State& state) {
  registry::Registry& registry = shared_registry();
  std::uintptr_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(registry.find(at_address(kBase + (8ul << 30) + i * 0x10040 + 0x8123)));
    i = i < 4999 ? i + 1 : 0;
  }
}
BENCHMARK(RegistryFindInterior);

void RegistryFindNothing(benchmark::State& state) {
  registry::Registry& registry = shared_registry();
  std::uintptr_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(registry.find(at_address(kBase + (4ul << 30) + at + 4095)));
    at = (at + 4096) & ((16u << 20) - 1);
  }
}
BENCHMARK(RegistryFindNothing);

// Allocates a batch, as a forward pass does, and frees it in reverse: nothing is touched, so only the heap is measured.
template <class Allocate, class Free>
void batches(benchmark::State& state, Allocate allocate, Free release) {
  auto bytes = static_cast<std::size_t>(state.range(0));
  std::vector<void*> live(32);
  for (auto _ : state) {
    for (void*& block : live) {
      block = allocate(bytes);
      benchmark::DoNotOptimize(block);
    }
    while (!live.empty() && live.back() != nullptr) {
      release(live.back());
      live.pop_back();
    }
    live.resize(32);
  }
  state.SetItemsProcessed(state.iterations() * 32);
}

arena::PageHeap& shared_heap() {
  static const std::unique_ptr<arena::PageHeap> instance = [] {
    auto made = std::make_unique<arena::PageHeap>();
    made->init(64ul << 30);
    return made;
  }();
  return *instance;
}

void HeapAllocateFree(benchmark::State& state) {
  arena::PageHeap& heap = shared_heap();
  batches(
      state, [&](std::size_t bytes) { return heap.allocate(bytes); }, [&](void* block) { heap.free(block); });
}
BENCHMARK(HeapAllocateFree)->Arg(4096)->Arg(1 << 20)->Arg(8 << 20)->Threads(1)->Threads(2)->UseRealTime();

void LibcAlignedFree(benchmark::State& state) {
  batches(
      state,
      [](std::size_t bytes) {
        void* block = nullptr;
        return ::posix_memalign(&block, 64, bytes) == 0 ? block : nullptr;
      },
      [](void* block) { std::free(block); });
}
BENCHMARK(LibcAlignedFree)->Arg(4096)->Arg(1 << 20)->Arg(8 << 20)->Threads(1)->Threads(2)->UseRealTime();

}  // namespace
}  // namespace hearth
