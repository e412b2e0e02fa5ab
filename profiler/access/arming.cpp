// Arming: the pages of a new tensor, and again those that were opened since the last mark.
#include <sys/mman.h>

#include <algorithm>

#include "access/dispositions.h"
#include "access/guard_state.h"
#include "access/page_sampler.h"

namespace hearth::access {

namespace {

constexpr std::uint32_t kBatch = 64;           // pages of one rearm that are sorted and merged together
constexpr std::uint32_t kRearmsPerCheck = 64;  // of the handler's ownership, while there is nothing to arm

struct Locked {
  std::uint32_t index;
  std::uint64_t word;
};

// Protects the pages of words that this thread holds, sorted by address, neighbours in one call. False if the kernel
// refused; the pages concerned are then open for good.
bool arm(const Locked* pages, std::uint32_t count) {
  bool all = true;
  for (std::uint32_t i = 0; i < count;) {
    const std::uintptr_t from = page_of(pages[i].word);
    std::uint32_t next = i + 1;
    while (next < count && page_of(pages[next].word) == from + (next - i) * kPageBytes) ++next;
    const std::uintptr_t bytes = (next - i) * kPageBytes;
    const bool armed = protect(from, bytes, PROT_NONE) == 0;
    if (!armed) {
      protect(from, bytes, PROT_READ | PROT_WRITE);  // a failed call may have changed a part
      all = false;
    }
    for (; i < next; ++i) {
      unlock(g_guard.pool.at(pages[i].index), with_state(pages[i].word & ~kListed, armed ? State::armed : State::dead));
    }
  }
  return all;
}

// The kernel refuses to split mappings any further, and soon will refuse the program's own: gives all of ours back and
// arms nothing more in this run.
void relieve() {
  count(g_guard.protect_failures);
  g_guard.budget.exhaust();
  open_all();
}

void widen(std::uintptr_t low, std::uintptr_t high) {
  std::uintptr_t seen = g_guard.low.load(std::memory_order_relaxed);
  while (low < seen && !g_guard.low.compare_exchange_weak(seen, low)) {
  }
  seen = g_guard.high.load(std::memory_order_relaxed);
  while (high > seen && !g_guard.high.compare_exchange_weak(seen, high)) {
  }
}

std::uint32_t affordable(const registry::Tensor& tensor, std::uint32_t wanted) {
  if (g_guard.budget.take(tensor, wanted)) return wanted;
  return wanted > 1 && g_guard.budget.take(tensor, 1) ? 1 : 0;
}

// Fills in the words of a tensor, all BUSY, and publishes them in its record. False if the tensor is being freed by
// another thread, or watched by one: nothing is armed then. Its memory may already be another tensor's, which nobody
// would ever open. Whoever frees it after a true finds the header, and waits for the words.
bool publish(TensorSlot slot, TensorSerial serial, std::uintptr_t address, std::uint32_t header,
             const PageSample& sample, std::uint32_t pages) {
  PagePool& pool = g_guard.pool;
  registry::Registry& registry = *g_guard.registry.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < pages; ++i) {
    pool.at(header + 1 + i)
        .store(with_state(address + sample.page(i) * kPageBytes, State::busy), std::memory_order_relaxed);
  }
  registry::Tensor& tensor = registry.at(slot);
  widen(address, address + tensor.bytes);
  std::uint32_t expected = 0;
  const bool mine = tensor.watch.compare_exchange_strong(expected, header, std::memory_order_seq_cst);
  if (mine && registry.lives(slot, serial)) return true;
  for (std::uint32_t i = 0; i < pages; ++i) {
    Word& word = pool.at(header + 1 + i);
    unlock(word, with_state(word.load(std::memory_order_relaxed), State::dead));
  }
  expected = header;
  if (mine) tensor.watch.compare_exchange_strong(expected, 0, std::memory_order_acq_rel);
  return false;
}

// Arms the published words of a tensor. False if the kernel refused.
bool arm_tensor(std::uint32_t header, std::uint32_t pages) {
  PagePool& pool = g_guard.pool;
  bool all = true;
  Locked batch[kBatch];
  for (std::uint32_t i = 0; i < pages; i += kBatch) {
    const std::uint32_t size = std::min(kBatch, pages - i);
    for (std::uint32_t k = 0; k < size; ++k) {
      const std::uint32_t index = header + 1 + i + k;
      batch[k] = {index, pool.at(index).load(std::memory_order_relaxed)};
    }
    all = arm(batch, size) && all;
  }
  return all;
}

bool listed_word_to_arm(std::uint32_t index, std::uint64_t* before) {
  Word& word = g_guard.pool.at(index);
  if (!try_lock(word, before)) {
    // Somebody is at work on it, so it counts as opened just now: the next mark's business.
    if (state_of(*before) != State::dead) g_guard.pool.list(index);
    return false;
  }
  if (held(*before) || state_of(*before) == State::armed) {
    unlock(word, *before & ~kListed);
    return false;
  }
  return true;
}

bool arm_listed() {
  PagePool& pool = g_guard.pool;
  bool all = true;
  Locked batch[kBatch];
  std::uint32_t size = 0;
  const auto flush = [&] {
    std::sort(batch, batch + size, [](const Locked& a, const Locked& b) { return a.word < b.word; });
    all = arm(batch, size) && all;
    size = 0;
  };
  for (std::uint32_t index = pool.take_list(); index != 0;) {
    const std::uint32_t next = pool.next_listed(index);  // read first: list() below reuses the link
    std::uint64_t before = 0;
    if (listed_word_to_arm(index, &before)) {
      batch[size++] = {index, before};
      if (size == kBatch) flush();
    }
    index = next;
  }
  flush();
  return all;
}

}  // namespace

bool watch(TensorSlot slot, hearth_watch* how, std::uint32_t* pages) {
  *how = HEARTH_WATCH_NONE;
  *pages = 0;
  if (!active()) return false;
  const Section section;
  if (!section) return false;
  GuardState& g = g_guard;
  registry::Tensor& tensor = g.registry.load(std::memory_order_acquire)->at(slot);
  const TensorSerial serial = tensor.serial;  // first: publish() finds out if all the rest was still this tensor's
  const std::uintptr_t address = tensor.address.load(std::memory_order_acquire);
  const bool alone = tensor.own_pages && address != 0 && address % kPageBytes == 0 && tensor.bytes != 0;
  if (!alone || tensor.watch.load(std::memory_order_relaxed) != 0) return false;
  const bool sampled = g.options.sample_pages && tensor.bytes >= g.options.sample_min_bytes;
  const PageSample sample(serial.value, (tensor.bytes - 1) / kPageBytes + 1,
                          sampled ? g.options.samples_per_tensor : 0);
  const std::uint32_t affords = affordable(tensor, sample.count());
  const std::uint32_t header = affords != 0 ? g.pool.allocate(slot, affords) : 0;
  if (header == 0) {
    if (affords != 0) g.budget.refund(affords);
    count(g.unwatched_budget);
    return false;
  }
  if (!publish(slot, serial, address, header, sample, affords)) {
    g.budget.refund(affords);
    return false;
  }
  if (!arm_tensor(header, affords)) {
    relieve();
    return false;
  }
  count(g.watched);
  *how = affords > 1 ? HEARTH_WATCH_SAMPLED_PAGES : HEARTH_WATCH_FIRST_PAGE;
  *pages = affords;
  return true;
}

void rearm() {
  if (!active()) return;
  const bool work = g_guard.pool.any_listed();
  if (!work && ++g_guard.rearms % kRearmsPerCheck != 0) return;
  // Before pages are shut again: whoever took the handler over by a raw system call would get their faults.
  if (!dispositions::still_ours(SIGSEGV)) {
    stop();
    return;
  }
  const Section section;
  if (section && work && !arm_listed()) relieve();
}

}  // namespace hearth::access
