#include "machine/interference.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "machine/area.h"
#include "machine/bandwidth.h"
#include "machine/crew.h"
#include "platform/os_clock.h"

namespace hearth::machine {
namespace {

constexpr std::size_t kChunk = std::size_t{2} << 20;
constexpr unsigned kPasses = 4;

// Copies round and round on whatever processor the scheduler gives it, as a mover does.
class Copying {
 public:
  Copying(const Area& from, const Area& to) : begin_ns_(os::monotonic_ns()) {
    thread_ = std::jthread([this, &from, &to](const std::stop_token& stop) {
      for (std::size_t at = 0; !stop.stop_requested(); at = at + 2 * kChunk <= from.bytes() ? at + kChunk : 0) {
        copy_all(to.data() + at, from.data() + at, kChunk);
        copied_ += kChunk;
      }
    });
    while (copied_ == 0) std::this_thread::yield();
  }

  double stop() {
    thread_.request_stop();
    thread_.join();
    return static_cast<double>(copied_) / (static_cast<double>(os::monotonic_ns() - begin_ns_) * 1e-9);
  }

 private:
  std::uint64_t begin_ns_;
  std::atomic<std::uint64_t> copied_{0};
  std::jthread thread_;
};

}  // namespace

Interference measure_interference(const os::NodeMask& nodes, const os::NodeMask& from, const os::NodeMask& to,
                                  unsigned threads, std::size_t bytes, unsigned repeats) {
  Interference result;
  result.threads = threads;
  const Area loop(bytes, nodes, threads, PageSize::huge);
  const Area source(bytes / 2, from, 1, PageSize::huge);
  const Area target(bytes / 2, to, 1, PageSize::huge);
  for (const Area* area : {&loop, &source, &target}) {
    if (!area->problem().empty()) result.problem = area->problem();
  }
  if (!result.problem.empty()) return result;
  const auto work = [&](unsigned i) {
    const std::size_t half = loop.slice_bytes() / 2;
    for (unsigned pass = 0; pass < kPasses; ++pass) copy_all(loop.slice(i), loop.slice(i) + half, half);
  };
  timed_together(threads, work);
  std::vector<double> parts;
  std::vector<double> speeds;
  for (unsigned i = 0; i < repeats; ++i) {
    const double alone = timed_together(threads, work);
    Copying copying(source, target);
    const double beside = timed_together(threads, work);
    speeds.push_back(copying.stop());
    parts.push_back(beside > alone ? 1 - alone / beside : 0);
  }
  result.part = figure_of(parts);
  result.copied = figure_of(speeds);
  return result;
}

}  // namespace hearth::machine
