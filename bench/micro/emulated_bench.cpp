// Does an emulated move take as long as the machine's figures say? "pace" is the speed reached over the one asked for;
// 1 is exact, and less than 1 at the high speeds means that this host cannot copy faster.
//   hearth_micro --benchmark_filter=Emulated
#include <benchmark/benchmark.h>

#include <cstring>

#include "platform/os_memory.h"
#include "tier/emulated_backend.h"

namespace hearth::tier {
namespace {

constexpr std::size_t kBytes = std::size_t{16} << 20;

void BM_EmulatedMove(benchmark::State& state) {
  const auto wanted = static_cast<double>(state.range(0)) * 1e6;
  Machine machine;
  machine.move_to_fast = machine.move_to_slow = wanted;
  EmulatedBackend backend;
  void* memory = os::reserve(kBytes, Backend::kMoveUnit);
  if (!backend.init(machine) || memory == nullptr || os::commit(memory, kBytes) != 0)
    return state.SkipWithError("no memory");
  std::memset(memory, 1, kBytes);
  for (auto _ : state) {
    for (std::size_t done = 0; done < kBytes; done += Backend::kMoveUnit)
      backend.move({static_cast<std::byte*>(memory) + done, Backend::kMoveUnit}, Tier::slow);
  }
  const auto moved = static_cast<double>(state.iterations()) * static_cast<double>(kBytes);
  state.SetBytesProcessed(static_cast<std::int64_t>(moved));
  state.counters["pace"] = benchmark::Counter(moved / wanted, benchmark::Counter::kIsRate);
  os::unmap(memory, kBytes);
}
BENCHMARK(BM_EmulatedMove)->ArgName("MB_per_s")->Arg(100)->Arg(500)->Arg(2000)->Arg(20000)->UseRealTime();

}  // namespace
}  // namespace hearth::tier
