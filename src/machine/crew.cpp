#include "machine/crew.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <memory>
#include <thread>

#include "platform/os_clock.h"

namespace hearth::machine {
namespace {

// Room for more processors than cpu_set_t has.
constexpr std::size_t kMostProcessors = 8192;

struct Freed {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using Set = std::unique_ptr<cpu_set_t, Freed>;

Set set_of(const std::vector<int>& processors) {
  Set set(CPU_ALLOC(kMostProcessors));
  CPU_ZERO_S(CPU_ALLOC_SIZE(kMostProcessors), set.get());
  for (const int processor : processors) {
    CPU_SET_S(static_cast<std::size_t>(processor), CPU_ALLOC_SIZE(kMostProcessors), set.get());
  }
  return set;
}

// Refused in some containers: then the scheduler places the thread, and the spread tells.
void stay_on(const std::vector<int>& processors) {
  if (!processors.empty()) sched_setaffinity(0, CPU_ALLOC_SIZE(kMostProcessors), set_of(processors).get());
}

}  // namespace

std::vector<int> own_processors() {
  const Set set = set_of({});
  std::vector<int> processors;
  if (sched_getaffinity(0, CPU_ALLOC_SIZE(kMostProcessors), set.get()) == 0) {
    for (std::size_t i = 0; i < kMostProcessors; ++i) {
      if (CPU_ISSET_S(i, CPU_ALLOC_SIZE(kMostProcessors), set.get())) processors.push_back(static_cast<int>(i));
    }
  }
  if (processors.empty()) processors.push_back(0);
  return processors;
}

OnProcessor::OnProcessor(int processor) : former_(own_processors()) { stay_on({processor}); }

OnProcessor::~OnProcessor() { stay_on(former_); }

double timed_together(unsigned count, const std::function<void(unsigned)>& work) {
  const std::vector<int> processors = own_processors();
  std::atomic<std::uint64_t> begin_ns{0};
  std::barrier ready(static_cast<std::ptrdiff_t>(count), [&]() noexcept { begin_ns = os::monotonic_ns(); });
  std::vector<std::uint64_t> end_ns(count);
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      stay_on({processors[i % processors.size()]});
      ready.arrive_and_wait();
      work(i);
      end_ns[i] = os::monotonic_ns();
    });
  }
  threads.clear();  // joins
  return static_cast<double>(*std::max_element(end_ns.begin(), end_ns.end()) - begin_ns) * 1e-9;
}

}  // namespace hearth::machine
