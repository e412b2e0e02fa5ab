#include "runtime/waits.h"

#include <algorithm>

#include "platform/os_memory.h"

namespace hearth::runtime {

bool Waits::begin(std::uint64_t moves) {
  count_ = decided_ = worth_ = 0;
  if (moves > rows_) {
    const std::uint64_t rows = moves + moves / 2;
    const std::uint64_t page = os::page_size();
    fetches_ = static_cast<Fetch*>(os::map_zeroed((rows * sizeof(Fetch) + page - 1) / page * page));
    rows_ = fetches_ != nullptr ? rows : 0;
    if (fetches_ == nullptr) return false;
  }
  count_ = moves;
  std::fill_n(fetches_, count_, Fetch{});
  return true;
}

bool Waits::late(std::uint32_t move, std::uint64_t now_ns, bool may_try) {
  Fetch& fetch = fetches_[move];
  if (fetch.decided) return fetch.waits;
  if (!may_try) return false;
  fetch.waits = fetch.samples[1] < fetch.samples[0];
  fetch.begin_ns = now_ns;
  return fetch.waits;
}

void Waits::used(std::uint32_t move, std::uint64_t now_ns) {
  Fetch& fetch = fetches_[move];
  if (fetch.begin_ns == 0) return;
  const unsigned way = fetch.waits ? 1 : 0;
  fetch.ns[way] += now_ns - fetch.begin_ns;
  ++fetch.samples[way];
  fetch.begin_ns = 0;
  if (std::min(fetch.samples[0], fetch.samples[1]) == kSamples) decide(fetch);
}

void Waits::decide(Fetch& fetch) {
  const std::uint64_t going = fetch.ns[0] / fetch.samples[0];
  const std::uint64_t waiting = fetch.ns[1] / fetch.samples[1];
  fetch.decided = true;
  fetch.waits = waiting + going * kBetter / 100 < going;
  ++decided_;
  if (fetch.waits) ++worth_;
}

void Waits::iteration_closed() {
  for (std::uint64_t i = 0; i < count_; ++i) fetches_[i].begin_ns = 0;
}

}  // namespace hearth::runtime
