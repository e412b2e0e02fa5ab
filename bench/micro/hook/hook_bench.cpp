// alloc + free of tensor storage: PyTorch's own allocator against the same through Hearth's hook.
//
// Run with C10_LIBRARY=/path/to/libc10.so (scripts and docs/benchmarks.md show how). The program is linked to
// libhearth.so, so that c10::alloc_cpu is the hook, as under LD_PRELOAD; PyTorch's own is taken from libc10 itself.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "hearth/hearth.h"

namespace c10 {
void* alloc_cpu(std::size_t bytes);
void free_cpu(void* pointer);
}  // namespace c10

namespace {

struct Original {
  void* (*allocate)(std::size_t) = nullptr;
  void (*release)(void*) = nullptr;
};

Original original() {
  const char* path = std::getenv("C10_LIBRARY");
  void* library = path != nullptr ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : nullptr;
  if (library == nullptr) {
    std::fprintf(stderr, "hook_bench: set C10_LIBRARY to the libc10.so of a PyTorch installation\n");
    std::exit(2);
  }
  return {reinterpret_cast<void* (*)(std::size_t)>(dlsym(library, "_ZN3c109alloc_cpuEm")),
          reinterpret_cast<void (*)(void*)>(dlsym(library, "_ZN3c108free_cpuEPv"))};
}

void torch_allocator(benchmark::State& state) {
  static const Original torch = original();
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    void* pointer = torch.allocate(bytes);
    benchmark::DoNotOptimize(pointer);
    torch.release(pointer);
  }
}

void hearth_hook(benchmark::State& state) {
  static const Original torch = original();  // so that libc10 is mapped when the hook starts
  benchmark::DoNotOptimize(torch);
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    void* pointer = c10::alloc_cpu(bytes);
    benchmark::DoNotOptimize(pointer);
    c10::free_cpu(pointer);
  }
}

// One iteration of a made-up training step: activations that pile up and go in reverse order, short tensors between.
class Step {
 public:
  explicit Step(int layers) : kept_(static_cast<std::size_t>(layers)) {}

  template <class Allocate, class Release>
  void run(const Allocate& allocate, const Release& release) {
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      kept_[i] = allocate(bytes(i));
      release(allocate(bytes(i) / 2));
    }
    for (std::size_t i = kept_.size(); i-- > 0;) {
      release(allocate(bytes(i) / 4));
      release(kept_[i]);
    }
  }
  std::int64_t pairs() const { return static_cast<std::int64_t>(3 * kept_.size()); }

 private:
  static std::size_t bytes(std::size_t layer) { return std::size_t{65536} + layer % 7 * 16384; }
  std::vector<void*> kept_;
};

void torch_step(benchmark::State& state) {
  static const Original torch = original();
  Step step(static_cast<int>(state.range(0)));
  for (auto _ : state) step.run(torch.allocate, torch.release);
  state.SetItemsProcessed(state.iterations() * step.pairs());
}

// The same under its plan: first as many iterations as it takes to be profiled and planned.
void hearth_planned_step(benchmark::State& state) {
  static const Original torch = original();
  benchmark::DoNotOptimize(torch);
  Step step(static_cast<int>(state.range(0)));
  const auto iteration = [&] {
    hearth_iteration_begin();
    step.run(c10::alloc_cpu, c10::free_cpu);
    hearth_iteration_end();
  };
  hearth_counters counters{};
  counters.struct_size = sizeof counters;
  for (int i = 0; i < 40; ++i) iteration();
  hearth_get_counters(&counters);
  if (counters.state != HEARTH_STATE_MANAGED) {
    state.SkipWithError("no plan is followed");
    return;
  }
  for (auto _ : state) iteration();
  state.SetItemsProcessed(state.iterations() * step.pairs());
}

BENCHMARK(torch_step)->Arg(10)->Arg(100)->Arg(1000);
BENCHMARK(hearth_planned_step)->Arg(10)->Arg(100)->Arg(1000);
BENCHMARK(torch_allocator)
    ->Arg(256)
    ->Arg(4096)
    ->Arg(65536)
    ->Arg(1 << 20)
    ->Arg(16 << 20)
    ->ThreadRange(1, 2)
    ->UseRealTime();
BENCHMARK(hearth_hook)->Arg(256)->Arg(4096)->Arg(65536)->Arg(1 << 20)->Arg(16 << 20)->ThreadRange(1, 2)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
