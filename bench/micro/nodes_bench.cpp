// Moving pages between two memory nodes: how fast this library's way is beside the usual ones.
//   hearth_micro --benchmark_filter=Nodes
//
// 64 MiB go from the fast node to the slow one and back. "arrived" is the share that the kernel finds there afterwards,
// asked for outside of the time: what reports success and leaves pages behind is not fast. memcpy between the nodes is
// what no way can beat. Skipped where there is one node.
#include <benchmark/benchmark.h>
#include <numa.h>
#include <numaif.h>

#include <cstring>
#include <vector>

#include "platform/os_memory.h"
#include "tier/numa_backend.h"
#include "tier/topology_choice.h"

namespace hearth::tier {
namespace {

constexpr std::size_t kBytes = std::size_t{64} << 20;
constexpr std::size_t kHuge = std::size_t{2} << 20;
constexpr std::size_t kPages = kBytes / Pages::kPage;

const TierChoice& choice() {
  static const TierChoice made = [] {
    static Topology topology;
    read_topology("", &topology);
    return choose_tiers(topology, os::NodeMask{}, os::NodeMask{});
  }();
  return made;
}

const os::NodeMask& nodes(Tier tier) { return tier == Tier::fast ? choice().fast : choice().slow; }
int first_node(Tier tier) { return static_cast<int>(nodes(tier).next(0)); }

// Memory on the fast node, in pages of 2 MiB where they are asked for and can be had.
class Region {
 public:
  Region(Tier tier, bool huge) : memory_(os::reserve(kBytes, kHuge)) {
    if (memory_ == nullptr || os::commit(memory_, kBytes) != 0) return;
    if (huge) {
      os::advise_huge(memory_, kBytes);
    } else {
      os::advise_small(memory_, kBytes);
    }
    os::prefer_nodes(memory_, kBytes, nodes(tier));
    std::memset(memory_, 1, kBytes);
    os::forget_nodes(memory_, kBytes);
    for (std::size_t i = 0; i < kPages; ++i) pages_.push_back(at(i * Pages::kPage));
    status_.resize(kPages);
  }
  ~Region() { os::unmap(memory_, kBytes); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  bool ready() const { return !pages_.empty(); }
  void* at(std::size_t offset) const { return static_cast<std::byte*>(memory_) + offset; }
  std::vector<void*>& pages() { return pages_; }
  std::vector<int>& status() { return status_; }

  std::size_t bytes_on(Tier tier) {
    if (os::where_are(pages_.data(), kPages, status_.data()) != 0) return 0;
    std::size_t there = 0;
    for (const int node : status_) there += node >= 0 && nodes(tier).has(static_cast<unsigned>(node)) ? 1 : 0;
    return there * Pages::kPage;
  }

 private:
  void* memory_;
  std::vector<void*> pages_;
  std::vector<int> status_;
};

template <class Move>
void go_to_and_fro(benchmark::State& state, const Move& move) {
  if (!choice().two_tiers()) return state.SkipWithError(choice().problem);
  Region region(Tier::fast, state.range(0) != 0);
  if (!region.ready()) return state.SkipWithError("no memory");
  Tier to = Tier::slow;
  std::size_t arrived = 0;
  for (auto _ : state) {
    move(region, to);
    state.PauseTiming();
    arrived += region.bytes_on(to);
    to = other(to);
    state.ResumeTiming();
  }
  const auto wanted = static_cast<double>(state.iterations()) * static_cast<double>(kBytes);
  state.counters["arrived"] = static_cast<double>(arrived) / wanted;
  state.SetBytesProcessed(static_cast<std::int64_t>(arrived));
}

// As a mover does it: in units between which it can be stopped, and no page believed to have moved that was not found
// there.
void BM_NodesHearth(benchmark::State& state) {
  NumaBackend backend;
  if (choice().two_tiers()) backend.init(choice().fast, choice().slow);
  go_to_and_fro(state, [&](Region& region, Tier to) {
    for (std::size_t done = 0; done < kBytes; done += Backend::kMoveUnit)
      backend.move({region.at(done), Backend::kMoveUnit}, to);
  });
}
BENCHMARK(BM_NodesHearth)->ArgName("huge")->Arg(0)->Arg(1)->UseRealTime();

void BM_NodesMovePages(benchmark::State& state) {
  go_to_and_fro(state, [](Region& region, Tier to) {
    const std::vector<int> targets(kPages, first_node(to));
    numa_move_pages(0, kPages, region.pages().data(), targets.data(), region.status().data(), MPOL_MF_MOVE);
  });
}
BENCHMARK(BM_NodesMovePages)->ArgName("huge")->Arg(0)->Arg(1)->UseRealTime();

void BM_NodesMbind(benchmark::State& state) {
  go_to_and_fro(state, [](Region& region, Tier to) {
    const os::NodeMask& target = nodes(to);
    mbind(region.at(0), kBytes, MPOL_BIND, reinterpret_cast<const unsigned long*>(target.words), os::NodeMask::kNodes,
          MPOL_MF_MOVE);
  });
}
BENCHMARK(BM_NodesMbind)->ArgName("huge")->Arg(0)->Arg(1)->UseRealTime();

void BM_NodesMemcpy(benchmark::State& state) {
  if (!choice().two_tiers()) return state.SkipWithError(choice().problem);
  const bool huge = state.range(0) != 0;
  Region fast(Tier::fast, huge);
  Region slow(Tier::slow, huge);
  if (!fast.ready() || !slow.ready()) return state.SkipWithError("no memory");
  bool out = true;
  for (auto _ : state) {
    std::memcpy((out ? slow : fast).at(0), (out ? fast : slow).at(0), kBytes);
    benchmark::ClobberMemory();
    out = !out;
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kBytes));
}
BENCHMARK(BM_NodesMemcpy)->ArgName("huge")->Arg(0)->Arg(1)->UseRealTime();

}  // namespace
}  // namespace hearth::tier
