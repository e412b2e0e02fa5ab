// alloc + free of tensor storage: PyTorch's own allocator against the same through Hearth's hook.
//
// Run with C10_LIBRARY=/path/to/libc10.so (scripts and docs/benchmarks.md show how). The program is linked to
// libhearth.so, so that c10::alloc_cpu is the hook, as under LD_PRELOAD; PyTorch's own is taken from libc10 itself.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

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
