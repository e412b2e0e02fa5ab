// A library to preload beside Hearth: moves of pages fail at random, as they do where pages are pinned, a node is full
// or goes away, or a container forbids the calls. On real nodes it stands before syscall(), for move_pages that moves
// and for mbind with MPOL_MF_MOVE: whole calls are refused, or single pages. Emulated tiers make no such calls and ask
// hearth_test_move_error instead.
//
//   FAILING_MOVES=PERCENT  of calls that fail as a whole, and of pages in the others; default 50
//   FAILING_MOVES_AFTER=N  the first N calls are let through: Hearth tries at its start whether there are moves at all
//   FAILING_MOVES_TOLD=F   at the end, how many were made to fail goes into file F: 'calls N pages N'
//
// The same numbers in every run; which thread comes to which of them is not.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr long kMove = 1L << 1;                                 // MPOL_MF_MOVE
constexpr int kErrors[] = {EBUSY, ENOMEM, EPERM, ENODEV, EIO};  // one of each kind that a report knows
constexpr int kPageErrors[] = {EBUSY, ENOMEM, EFAULT, EACCES};
constexpr std::size_t kBatch = 4096;  // pages of a call that is looked into

using Syscall = long (*)(long, ...);
std::atomic<Syscall> next{nullptr};
std::atomic<std::uint64_t> drawn{0}, calls_seen{0}, calls_failed{0}, pages_failed{0};
std::uint64_t percent = 50, after = 0;

// splitmix64, of the how-manieth draw it is.
std::uint64_t draw() {
  std::uint64_t z = (drawn.fetch_add(1, std::memory_order_relaxed) + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

bool unlucky() { return draw() % 100 < percent; }

template <std::size_t count>
int one_of(const int (&errors)[count]) {
  return errors[draw() % count];
}

// An errno value for the whole call, or 0.
int error_of_call() {
  if (calls_seen.fetch_add(1, std::memory_order_relaxed) < after || !unlucky()) return 0;
  calls_failed.fetch_add(1, std::memory_order_relaxed);
  return one_of(kErrors);
}

Syscall real() {
  Syscall found = next.load(std::memory_order_relaxed);
  if (found == nullptr) {
    found = reinterpret_cast<Syscall>(dlsym(RTLD_NEXT, "syscall"));
    next.store(found, std::memory_order_relaxed);
  }
  return found;
}

// Some pages stay where they are and say why; the kernel gets to see the others.
long move_some(long pid, std::size_t count, void** pages, const int* nodes, int* status, long flags) {
  static thread_local void* kept[kBatch];
  static thread_local int kept_nodes[kBatch], kept_status[kBatch];
  static thread_local std::size_t from[kBatch];
  std::size_t moving = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (unlucky()) {
      status[i] = -one_of(kPageErrors);
      pages_failed.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    kept[moving] = pages[i];
    kept_nodes[moving] = nodes[i];
    from[moving++] = i;
  }
  if (moving == 0) return 0;
  const long result = real()(SYS_move_pages, pid, moving, kept, kept_nodes, kept_status, flags);
  for (std::size_t i = 0; i < moving; ++i) status[from[i]] = kept_status[i];
  return result;
}

[[gnu::constructor]] void begin() {
  if (const char* text = std::getenv("FAILING_MOVES")) percent = std::strtoull(text, nullptr, 10);
  if (const char* text = std::getenv("FAILING_MOVES_AFTER")) after = std::strtoull(text, nullptr, 10);
  real();
}

[[gnu::destructor]] void tell() {
  const char* path = std::getenv("FAILING_MOVES_TOLD");
  std::FILE* file = path != nullptr ? std::fopen(path, "w") : nullptr;
  if (file == nullptr) return;
  std::fprintf(file, "calls %llu pages %llu\n", static_cast<unsigned long long>(calls_failed.load()),
               static_cast<unsigned long long>(pages_failed.load()));
  std::fclose(file);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int hearth_test_move_error() { return error_of_call(); }

extern "C" [[gnu::visibility("default")]] long syscall(long number, ...) noexcept {
  long words[6];
  va_list list;
  va_start(list, number);
  for (long& word : words) word = va_arg(list, long);
  va_end(list);
  const bool of_pages = number == SYS_move_pages && words[3] != 0;
  const bool of_range = number == SYS_mbind && (words[5] & kMove) != 0;
  if (of_pages || of_range) {
    if (const int error = error_of_call(); error != 0) {
      errno = error;
      return -1;
    }
    const auto count = static_cast<std::size_t>(words[1]);
    if (of_pages && count <= kBatch && calls_seen.load(std::memory_order_relaxed) > after) {
      return move_some(words[0], count, reinterpret_cast<void**>(words[2]), reinterpret_cast<const int*>(words[3]),
                       reinterpret_cast<int*>(words[4]), words[5]);
    }
  }
  return real()(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
