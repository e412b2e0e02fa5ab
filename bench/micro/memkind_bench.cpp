// The heap for what no plan covers: our page heap against memkind's fixed kind, on one made-up training step.
//   hearth_micro --benchmark_filter='Step'
//
// Sizes of tensors from 16 KiB to 12 MiB; activations pile up and go in reverse order, two short-lived tensors between.
// Both serve from a reserved range of 8 GiB. "resident" is what the process holds more after the steps than before the
// first, as a multiple of the step's peak of live bytes; every tensor is touched, page by page.
#include <benchmark/benchmark.h>
#include <memkind.h>

#include <cstdint>
#include <vector>

#include "arena/page_heap.h"
#include "platform/os_memory.h"

namespace hearth::arena {
namespace {

constexpr std::size_t kRange = std::size_t{8} << 30;
constexpr std::size_t kLayers = 60;
constexpr std::size_t kPage = 4096;

std::size_t layer_bytes(std::size_t layer) {
  constexpr std::size_t kSizes[] = {3 << 20, 16384, 786432, 12 << 20, 131072, 1572864, 65536 + 64};
  return kSizes[layer % 7] + layer / 7 * 4096;
}

void touch(void* memory, std::size_t bytes) {
  auto* at = static_cast<volatile char*>(memory);
  for (std::size_t i = 0; i < bytes; i += kPage) at[i] = 1;
}

template <class Allocate, class Free>
std::size_t step(const Allocate& allocate, const Free& free) {
  std::size_t live = 0;
  std::size_t peak = 0;
  std::vector<void*> kept(kLayers);
  const auto make = [&](std::size_t bytes) {
    void* memory = allocate(bytes);
    touch(memory, bytes);
    live += bytes;
    peak = live > peak ? live : peak;
    return memory;
  };
  const auto drop = [&](void* memory, std::size_t bytes) {
    live -= bytes;
    free(memory);
  };
  for (std::size_t i = 0; i < kLayers; ++i) {
    kept[i] = make(layer_bytes(i));
    drop(make(layer_bytes(i) / 2), layer_bytes(i) / 2);
  }
  for (std::size_t i = kLayers; i-- > 0;) {
    drop(make(layer_bytes(i)), layer_bytes(i));
    drop(kept[i], layer_bytes(i));
  }
  return peak;
}

template <class Allocate, class Free>
void run(benchmark::State& state, std::size_t before, const Allocate& allocate, const Free& free) {
  std::size_t peak = 0;
  for (auto _ : state) peak = step(allocate, free);
  const double grown = static_cast<double>(os::resident_bytes()) - static_cast<double>(before);
  state.counters["resident"] = grown / static_cast<double>(peak);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(3 * kLayers));
}

void PageHeapStep(benchmark::State& state) {
  static const std::size_t before = os::resident_bytes();
  static PageHeap heap;
  heap.init(kRange);
  const auto allocate = [](std::size_t bytes) { return heap.allocate(bytes); };
  run(state, before, allocate, [](void* memory) { heap.free(memory); });
}
BENCHMARK(PageHeapStep);

void MemkindFixedStep(benchmark::State& state) {
  static const std::size_t before = os::resident_bytes();
  static memkind_t kind = [] {
    memkind_t made = nullptr;
    void* range = os::reserve(kRange, std::size_t{2} << 20);
    if (range != nullptr && os::commit(range, kRange) == 0) memkind_create_fixed(range, kRange, &made);
    return made;
  }();
  if (kind == nullptr) {
    state.SkipWithError("memkind refuses the range");
    return;
  }
  const auto allocate = [](std::size_t bytes) {
    void* memory = nullptr;
    return memkind_posix_memalign(kind, &memory, 64, bytes) == 0 ? memory : nullptr;
  };
  run(state, before, allocate, [](void* memory) { memkind_free(kind, memory); });
}
BENCHMARK(MemkindFixedStep);

}  // namespace
}  // namespace hearth::arena
