#include "machine/latency.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "machine/area.h"
#include "machine/bandwidth.h"
#include "machine/crew.h"
#include "platform/os_clock.h"

namespace hearth::machine {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kSteps = std::size_t{1} << 18;  // per chain: some 30 ms
constexpr std::size_t kMostChains = 24;               // more than any core's line fill buffers

struct alignas(kLine) Link {
  const Link* next = nullptr;
};

// One cycle through all lines in random order, so that no prefetcher guesses the next.
void chain(Link* links, std::size_t count) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::minstd_rand random(20210227);
  for (std::size_t i = count - 1; i > 0; --i) std::swap(order[i], order[random() % i]);  // Sattolo: a single cycle
  for (std::size_t i = 0; i < count; ++i) links[order[i]].next = &links[order[(i + 1) % count]];
}

// Nanoseconds per read with so many chains at once; each goes on where it stopped.
template <std::size_t kChains>
double walk(std::array<const Link*, kMostChains>& at, std::size_t steps) {
  std::array<const Link*, kChains> now;
  std::copy_n(at.begin(), kChains, now.begin());
  const std::uint64_t begin = os::monotonic_ns();
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < kChains; ++i) now[i] = now[i]->next;
    asm volatile("" : : "g"(&now) : "memory");
  }
  const std::uint64_t taken = os::monotonic_ns() - begin;
  std::copy_n(now.begin(), kChains, at.begin());
  return static_cast<double>(taken) / static_cast<double>(steps * kChains);
}

// The fewest nanoseconds per read that any number of chains reaches.
double best_of_many(std::array<const Link*, kMostChains>& at) {
  double best = walk<4>(at, kSteps / 4);
  for (const double time : {walk<8>(at, kSteps / 8), walk<12>(at, kSteps / 12), walk<16>(at, kSteps / 16),
                            walk<kMostChains>(at, kSteps / kMostChains)}) {
    best = std::min(best, time);
  }
  return best;
}

}  // namespace

Latency measure_latency(const os::NodeMask& nodes, std::size_t bytes, unsigned repeats) {
  Latency result;
  const Area area(bytes, nodes, 1, PageSize::huge);
  result.problem = area.problem();
  if (!result.problem.empty()) return result;
  auto* const links = reinterpret_cast<Link*>(area.data());
  const std::size_t count = area.bytes() / sizeof(Link);
  chain(links, count);
  // What the chain's making left in the caches would answer in memory's place.
  const Area other(2 * cache_bytes(), nodes, 1, PageSize::huge);
  if (other.problem().empty()) read_all(other.data(), other.bytes());
  std::array<const Link*, kMostChains> at;
  for (std::size_t i = 0; i < kMostChains; ++i) at[i] = links + count / kMostChains * i;
  const OnProcessor here(own_processors().front());
  result.dependent_ns = repeated(repeats, [&] { return walk<1>(at, kSteps); });
  std::vector<double> in_flight;
  for (unsigned i = 0; i < repeats; ++i) in_flight.push_back(result.dependent_ns.median / best_of_many(at));
  result.outstanding = figure_of(in_flight).median;
  return result;
}

}  // namespace hearth::machine
